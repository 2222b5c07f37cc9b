"""Notices that a host did not get yet: looked at, sent again or dropped by hand. Callers ask who may."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from pipelines.errors import Conflict
from pipelines.models import HostNotice, Repository, User
from pipelines.ports import audit, clock, queue
from pipelines.ports.queue_tasks import HOSTS, TELL_HOST

State = HostNotice.State


def unsent_notices(repository: Repository) -> QuerySet[HostNotice]:
    """Failed ones, and those that are still tried; the newest first."""
    rows = HostNotice.objects.filter(link__repository=repository, state__in=(State.FAILED, State.QUEUED))
    return rows.select_related("link__task__project").order_by("-pk")


@transaction.atomic
def requeue_failed_notice(notice: HostNotice, *, by: User, now: datetime) -> None:
    """Put a failed one back into the queue. Raises Conflict."""
    failed = HostNotice.objects.filter(pk=notice.pk, state=State.FAILED)
    # The condition is part of the statement: of two at once one gets through.
    if not failed.update(state=State.QUEUED, queued_at=clock.now(), error=""):
        raise Conflict("Only what failed is sent again. Load the page again.")
    queue.enqueue_queue_jobs(TELL_HOST, HOSTS, {"notice_id": notice.pk})
    _record_in_audit("notice.sent_again", notice, by, now)


@transaction.atomic
def cancel_unsent_notice(notice: HostNotice, *, by: User, now: datetime) -> None:
    """Send it never, not even if it is tried just now in vain. Raises Conflict."""
    pending = HostNotice.objects.filter(pk=notice.pk, state__in=(State.FAILED, State.QUEUED))
    if not pending.update(state=State.DROPPED):
        raise Conflict("It was sent or dropped already. Load the page again.")
    _record_in_audit("notice.dropped", notice, by, now)


def _record_in_audit(kind: str, notice: HostNotice, by: User, now: datetime) -> None:
    link = notice.link
    audit.record_administrative_act(
        kind,
        by=by,
        at=now,
        project=link.task.project,
        about=f"repository:{link.repository_id}",
        name=f"{link.task.name}: {notice.subject}",
    )
