"""Notices on their way out: a row of each, and a ticket, in the transaction of what brought them about."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from procrastinate.types import JSONDict

from pipelines.models import HostLink, HostNotice
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.ports import audit, clock, queue
from pipelines.ports.queue_tasks import HOSTS, TELL_HOST
from pipelines.ports.statements import UNSENT_NOTICES

STARTED, ENDED, STATUS, WITHDRAW = "started", "ended", "status", "withdraw"
REPEATED = (STATUS, WITHDRAW)
LATEST = timedelta(days=1)
"""After the time at which a notice was queued: nothing is sent later by itself."""
AT_ONCE = 100
LATE = "It was not sent within a day: no worker came to it."
LOST = "It left the queue without being sent. The log of the worker says why."
State = HostNotice.State


def enqueue_new_notices_and_every_status(notices: Iterable[tuple[HostLink, str]], now: datetime) -> None:
    """Queue each notice once, except a status and a withdrawal: those are sent again, and look at what is so then."""
    tickets: list[JSONDict] = []
    queued_at = clock.now()
    for link, about in notices:
        row, new = HostNotice.objects.get_or_create(
            link=link, about=about, defaults={"created_at": now, "queued_at": queued_at}
        )
        # The same row is sent again
        if not new and about in REPEATED:
            HostNotice.objects.filter(pk=row.pk).update(state=State.QUEUED, queued_at=queued_at, error="")
        if new or about in REPEATED:
            tickets.append({"notice_id": row.pk})
    queue.enqueue_queue_jobs(TELL_HOST, HOSTS, *tickets)


@transaction.atomic
def mark_notice_failed_unless_queued_again(notice: HostNotice, reason: str) -> bool:
    """Mark a notice as failed; it is not retried automatically. False if it was queued again, sent or dropped
    meanwhile."""
    # One conditional UPDATE: somebody may have queued it again, or dropped it
    if not unchanged_queued_row(notice).update(state=State.FAILED, error=reason):
        return False
    project = notice.link.task.project
    about = f"repository:{notice.link.repository_id}" if notice.link.repository_id else ""
    audit.record_administrative_act(
        "notice.failed",
        by=audit.ENGINE,
        at=clock.now(),
        project=project,
        about=about,
        name=f"{notice.link.task.name}: {notice.subject}",
        why=reason,
    )
    return True


def unchanged_queued_row(notice: HostNotice) -> QuerySet[HostNotice]:
    """Select the notice's row, if it is still queued as it was when it was read."""
    return HostNotice.objects.filter(pk=notice.pk, state=State.QUEUED, queued_at=notice.queued_at)


def fail_notices_nobody_will_send(limit: int = AT_ONCE) -> int:
    """Fail what is queued although its ticket is gone, whatever took it, and what is too late. Returns how many."""
    candidates = _whether_too_late_by_unsent_notice(limit)
    if not candidates:
        return 0
    with transaction.atomic():
        rows = HostNotice.objects.select_related("link__task__project").order_by("pk")
        locked = {row.pk: row for row in rows.select_for_update(of=("self",)).filter(pk__in=candidates)}
        # Again, by a statement of its own: who queued one anew meanwhile has written its ticket, too.
        unsent = _whether_too_late_by_unsent_notice(limit, list(locked))
        return sum(
            mark_notice_failed_unless_queued_again(locked[pk], locked[pk].error or (LATE if late else LOST))
            for pk, late in unsent.items()
        )


def _whether_too_late_by_unsent_notice(limit: int, among: list[int] | None = None) -> dict[int, bool]:
    """{id: whether it is too late} of queued notices that nobody will send."""
    before = clock.now() - LATEST
    values = {"among": among, "before": before, "queue": HOSTS, "task": TELL_HOST, "most": limit}
    return dict(fetch(UNSENT_NOTICES, values))
