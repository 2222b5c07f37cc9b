"""A receiver of webhooks that fails half of the time, before and after it took a message: nothing is lost, the messages
about one task come in order, and what comes twice has the id that it had."""

from __future__ import annotations

import json
import threading
from collections import Counter, defaultdict
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from pipelines.ports import queue_tasks
from reviews.models import ChannelMessage
from tests.factories import World
from tests.fixtures.site import environment, manage, stop
from tests.fixtures.tickets import try_again_now
from tests.outgoing.servers import Asked, say, serving
from tests.reviews.test_channel_events import FAILED, line_of
from tests.reviews.test_channels import Chat, connect
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)
MOST_FAILURES = 6
TOPICS = ["started", "moved", "failed"]


class Receiver:
    """Every second call fails, by turns before it took the message and after."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, str, str]] = []
        """(id, task, type) as they were taken."""
        self.calls = self.refused = self.dropped = 0
        self.failed: Counter[str] = Counter()
        self._lock = threading.Lock()

    def answer(self, to: BaseHTTPRequestHandler, asked: Asked) -> None:
        document = json.loads(asked.body)
        with self._lock:
            self.calls += 1
            message_id = asked.headers["webhook-id"]
            # After eight tries it would be given up
            fails = self.calls % 2 == 1 and self.failed[message_id] < MOST_FAILURES
            self.failed[message_id] += fails
            drops = fails and self.calls % 4 == 1
            if not fails or drops:
                self.taken.append((message_id, document["data"]["task"], document["type"]))
            self.refused += fails and not drops
            self.dropped += drops
        if drops:
            to.connection.close()
        else:
            say(to, 503 if fails else 202)


def are_all_sent(number: int) -> bool:
    try_again_now(queue_tasks.CHANNELS)
    return ChannelMessage.objects.filter(state="sent").count() == number


@pytest.mark.parametrize(
    "tasks", [pytest.param(6, marks=pytest.mark.wide), pytest.param(60, marks=pytest.mark.soak)]
)
def test_nothing_is_lost_and_each_task_is_told_in_order(world: World, tmp_path: Path, tasks: int) -> None:
    receiver, chat = Receiver(), Chat()
    with serving(receiver.answer) as chat.server:
        connect(world, chat, "webhook", topics=TOPICS)
        version = line_of(world)
        for _ in range(tasks):
            task = world.start(version)
            world.report(task)
            world.report(task, FAILED)
        written = list(ChannelMessage.objects.order_by("pk").select_related("task__project"))
        expected: dict[str, list[str]] = defaultdict(list)
        for message in written:
            assert message.task is not None
            expected[message.task.name].append(f"msg_{message.token.hex}")
        assert len(written) >= 2 * tasks
        log = tmp_path / "worker.log"
        process = manage("worker", log=log, env=environment(GATELINE_PRIVATE_HOSTS="127.0.0.1"))
        try:
            until(lambda: are_all_sent(len(written)), lambda: log.read_text()[-3000:])
        finally:
            stop(process)
    came: dict[str, list[str]] = defaultdict(list)
    for message_id, name, _type in receiver.taken:
        came[name].append(message_id)
    # Each once in this order; again only what its receiver dropped after it was taken
    assert {name: list(dict.fromkeys(ids)) for name, ids in came.items()} == dict(expected)
    for ids in came.values():
        assert all(ids[place] == ids[place - 1] for place in range(1, len(ids)) if ids[place] in ids[:place])
    twice = len(receiver.taken) - len(written)
    assert twice == receiver.dropped > 0 and receiver.refused > 0
    print(
        f"{len(written)} messages about {tasks} tasks; {receiver.calls} calls, {receiver.refused} refused,"
        f" {receiver.dropped} dropped; lost 0, out of order 0, twice {twice}"
    )
