"""A mail server that fails half of the time, before and after it took a mail: nothing is lost, the mails about one
review come in order, and what comes twice has the `Message-ID` that it had."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from aiosmtpd.smtp import SMTP, Envelope, Session

from pipelines.ports import queue_tasks
from reviews.models import Mail, Posted
from tests.factories import World
from tests.fixtures.mailbox import Mailbox
from tests.fixtures.site import environment, manage, stop
from tests.fixtures.tickets import try_again_now
from tests.reviews.conftest import admin_only_where_named, gated
from tests.waiting import until

__all__ = ["admin_only_where_named"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("admin_only_where_named")]
MOST_FAILURES = 6


class FailingServer:
    """Every second mail fails, by turns before it was taken and after."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._take = mailbox.handle_DATA
        self.mails = self.refused = self.dropped = 0
        self.failed: Counter[bytes] = Counter()
        self._lock = threading.Lock()

    async def handle(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        assert isinstance(envelope.content, bytes) and server.transport is not None
        key = envelope.content.split(b"Message-ID: <")[1].split(b">")[0]
        with self._lock:
            self.mails += 1
            # After eight tries it would be given up
            fails = self.mails % 2 == 1 and self.failed[key] < MOST_FAILURES
            self.failed[key] += fails
            drops = fails and self.mails % 4 == 1
            self.refused += fails and not drops
            self.dropped += drops
        if fails and not drops:
            return "451 not now"
        answer = await self._take(server, session, envelope)
        if drops:
            server.transport.abort()
        return answer


def are_all_done(kind: str, number: int) -> bool:
    try_again_now(queue_tasks.MAIL)
    done = (Posted.State.SENT, Posted.State.SKIPPED)
    return Mail.objects.filter(kind=kind, state__in=done).count() == number


@pytest.mark.parametrize(
    "reviews", [pytest.param(5, marks=pytest.mark.wide), pytest.param(60, marks=pytest.mark.soak)]
)
def test_no_mail_is_lost_and_each_review_is_told_in_order(
    world: World, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, reviews: int
) -> None:
    server = FailingServer(mailbox)
    monkeypatch.setattr(mailbox, "handle_DATA", server.handle)
    version, log = world.line(**gated()), tmp_path / "worker.log"
    tasks = [world.start(version, title=f"Review {number}") for number in range(reviews)]
    for task in tasks:
        world.report(task)
    opened, closed = Mail.MailKind.ASKED, Mail.MailKind.CLOSED
    assert Mail.objects.filter(kind=opened).count() == reviews
    process = manage("worker", log=log, env=environment(EMAIL_URL=mailbox.url))
    try:
        until(lambda: are_all_done(opened, reviews), lambda: log.read_text()[-3000:])
        for task in tasks:
            world.vote(task)
        until(lambda: are_all_done(closed, reviews), lambda: log.read_text()[-3000:])
    finally:
        stop(process)
    assert Mail.objects.filter(state=Posted.State.SENT).count() == 2 * reviews
    rows = {str(mail.token): mail for mail in Mail.objects.select_related("visit")}
    came: dict[int, list[str]] = defaultdict(list)
    for _to, message in mailbox.received:
        mail = rows[next(token for token in rows if token in message["Message-ID"])]
        came[mail.visit.task_id].append(mail.kind)
    # The second of each review after the first, and neither behind it again
    assert len(came) == reviews
    assert all(sorted(kinds, key=[opened, closed].index) == kinds for kinds in came.values()), came
    assert all(set(kinds) == {opened, closed} for kinds in came.values())
    twice = len(mailbox.received) - 2 * reviews
    assert twice == server.dropped > 0 and server.refused > 0
    print(
        f"{2 * reviews} mails about {reviews} reviews; {server.mails} tries, {server.refused} refused,"
        f" {server.dropped} dropped; lost 0, out of order 0, twice {twice}"
    )
