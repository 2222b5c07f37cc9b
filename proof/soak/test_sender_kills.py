"""The worker that sends mail and chat messages is killed while it sends: nothing is lost, and twice comes only what a
server had taken before the worker could note it, which is counted (house §4)."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP, Envelope, Session

from reviews.models import ChannelMessage, Mail
from tests.factories import World
from tests.fixtures.mailbox import Mailbox
from tests.fixtures.site import environment, manage, stop
from tests.outgoing.servers import Asked, serving
from tests.reviews.conftest import NOTIFIED, gated
from tests.reviews.test_channels import Chat, chat, connect  # noqa: F401 a fixture
from tests.waiting import LONG, until

pytestmark = pytest.mark.django_db(transaction=True)
BEFORE, AFTER = "before", "after"


class Held:
    """A server that keeps the first try of each message waiting, by turns before and after it took the message, until
    the worker is dead."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()
        self.noted: Counter[str] = Counter()
        self.twice: Counter[str] = Counter()
        self.waiting: Counter[str] = Counter()
        self.catching = True
        self._seen: set[str] = set()
        self._dead, self._lock = threading.Event(), threading.Lock()

    def come(self, key: str) -> str:
        with self._lock:
            if not self.catching or key in self._seen:
                return ""
            self._seen.add(key)
            return (BEFORE, AFTER)[len(self._seen) % 2]

    def take(self, key: str) -> None:
        with self._lock:
            self.taken[key] += 1

    def hold(self, where: str) -> None:
        with self._lock:
            self.waiting[where] += 1
            dead = self._dead
        dead.wait(LONG)

    def killed(self, marked: Callable[[], set[str]]) -> None:
        """`marked`: what the dead worker noted as sent."""
        with self._lock:
            fresh = {key for key in self.taken if self.taken[key] > self.noted[key]}
            self.noted = Counter(self.taken)
            self.twice.update(fresh - marked())
            dead, self._dead = self._dead, threading.Event()
        dead.set()


def holding_mail(mailbox: Mailbox, held: Held) -> Any:
    took = mailbox.handle_DATA

    async def handle(server: SMTP, session: Session, envelope: Envelope) -> str:
        assert isinstance(envelope.content, bytes)
        key = envelope.content.decode().split("Message-ID: <")[1].split("@")[0]
        point = held.come(key)
        if point == BEFORE:
            await asyncio.to_thread(held.hold, point)
            return "451 nobody is there"
        said = await took(server, session, envelope)
        held.take(key)
        if point == AFTER:
            await asyncio.to_thread(held.hold, point)
        return said

    return handle


def holding_chat(chat: Chat, held: Held) -> Callable[[BaseHTTPRequestHandler, Asked], None]:  # noqa: F811
    def answer(to: BaseHTTPRequestHandler, asked: Asked) -> None:
        key = str(json.loads(asked.body)["text"])
        point = held.come(key)
        if point == BEFORE:
            held.hold(point)
            return
        held.take(key)
        if point == AFTER:
            held.hold(point)
        chat.answer(to, asked)

    return answer


@contextmanager
def sender(mailbox: Mailbox, log: Path) -> Iterator[Any]:
    env = environment(EMAIL_URL=mailbox.url, GATELINE_PRIVATE_HOSTS="127.0.0.1")
    process = manage("worker", log=log, env=env)
    try:
        yield process
    finally:
        stop(process)


def sent_mails() -> set[str]:
    return {str(token) for token in Mail.objects.filter(state="sent").values_list("token", flat=True)}


def sent_messages() -> set[str]:
    found = ChannelMessage.objects.filter(state="sent").select_related("visit__task")
    return {each.visit.task.title for each in found if each.visit is not None}


@pytest.mark.parametrize(
    ("kills", "messages"),
    [pytest.param(2, 8, marks=pytest.mark.wide), pytest.param(12, 60, marks=pytest.mark.soak)],
)
def test_what_the_killed_worker_was_sending_arrives(
    world: World,
    mailbox: Mailbox,
    chat: Chat,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    kills: int,
    messages: int,
) -> None:
    mails, chats, log = Held(), Held(), tmp_path / "worker.log"
    monkeypatch.setattr(mailbox, "handle_DATA", holding_mail(mailbox, mails))
    with serving(holding_chat(chat, chats)) as chat.server:
        connect(world, chat, "slack")
        version = world.line(**gated())
        for number in range(messages):
            world.report(world.start(version, title=f"Message {number}"))
        for _ in range(kills):
            before = mails.waiting.total(), chats.waiting.total()
            with sender(mailbox, log) as process:
                until(
                    lambda before=before: (  # type: ignore[misc]
                        mails.waiting.total() > before[0] and chats.waiting.total() > before[1]
                    ),
                    lambda: log.read_text()[-3000:],
                )
                process.send_signal(signal.SIGKILL)
                process.wait(LONG)
            mails.killed(sent_mails)
            chats.killed(sent_messages)
        mails.catching = chats.catching = False
        with sender(mailbox, log):
            until(lambda: len(sent_mails()) == len(sent_messages()) == messages)
    for held, address in ((mails, NOTIFIED), (chats, "Slack")):
        assert len(held.taken) == messages, address
        assert +Counter({key: n - 1 for key, n in held.taken.items()}) == +held.twice, address
        assert min(held.waiting[BEFORE], held.waiting[AFTER]) > 0, address
        print(
            f"{address}: {messages} messages, {kills} kills; {held.waiting[BEFORE]} on the way,"
            f" {held.waiting[AFTER]} taken and not noted; lost 0, twice {held.twice.total()}"
        )
