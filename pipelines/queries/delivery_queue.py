"""Deliveries to one branch queue (law §15): each waits for the one before it, so that none burns a round against
another."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256

from django.db.models import Q
from django.utils import timezone

from pipelines.models import ENDED, Delivery, Job, Status, VisitCommit
from pipelines.models.plumbing.compiled_queries import execute
from pipelines.queries.statements import LOCK_BRANCH
from pipelines.routing.document.kinds.deliver import MERGE

LONGEST = timedelta(hours=1)
"""After it nobody waits any more for the checks of another task."""
SOONEST, PER_TASK, LATEST = 2.0, 1.0, 30.0
"""Seconds until the next look: with so many more for each that is ahead."""
RESTS = (Status.AWAITING_REVIEW, Status.HELD, Status.BLOCKED, Status.STUCK, *ENDED)
"""Of a task that does not go on by itself: nobody waits for people."""


def lock_delivery_queue(repository: int, branch: str) -> None:
    """Lock the queue of a branch until the end of the transaction: of two that look, the second sees what the
    first was cleared for."""
    digest = sha256(f"delivery\0{repository}\0{branch}".encode()).digest()
    # The name of an advisory lock of PostgreSQL is a bigint.
    execute(LOCK_BRANCH, [int.from_bytes(digest[:8], signed=True)])


def seconds_until_delivery_looks_again(job: Job, repository: int, branch: str) -> float:
    """Seconds after which this delivery looks again; 0.0: it is its turn."""
    ahead = len(_task_ids_ahead(job, repository, branch))
    return min(SOONEST + PER_TASK * ahead, LATEST) if ahead else 0.0


def _task_ids_ahead(job: Job, repository: int, branch: str) -> list[int]:
    """Return the tasks that deliver to the branch before this one: those that push now, or check the same
    change on top of what landed last."""
    now = timezone.now()
    rows = Delivery.objects.filter(
        Q(job__state=Job.State.RUNNING, moved=False)
        # Its host merges it as soon as the checks there are through; a queue of the host orders by itself.
        | Q(job__state=Job.State.QUEUED, moved=False, way="merge") & ~Q(head="")
        | Q(moved=True) & ~Q(kept_tree=""),
        repository=repository,
        branch=branch,
        to=MERGE,
        landed_at=None,
        cleared_at__gt=now - LONGEST,
    )
    under_way = list(rows.exclude(job=job.pk).select_related("task").order_by("job"))
    own = next((delivery.job_id for delivery in under_way if delivery.task_id == job.task_id), None)
    jobs_by_task = {}
    for delivery in under_way:
        if delivery.task_id == job.task_id or (
            delivery.moved and not _is_checking_same_change_again(delivery)
        ):
            continue
        if not delivery.moved or own is None or delivery.job_id < own:
            jobs_by_task[delivery.task_id] = delivery.job_id
    return list(jobs_by_task)


def _is_checking_same_change_again(delivery: Delivery) -> bool:
    """Return whether the task of the delivery is on the way to deliver the same change without people."""
    if delivery.task.status in RESTS:
        return False
    since = Delivery.objects.filter(task=delivery.task_id, job__gt=delivery.job_id)
    other = VisitCommit.objects.filter(task=delivery.task_id, job__gt=delivery.job_id)
    return not (since.exists() or other.exclude(tree=delivery.kept_tree, base=delivery.moved_to).exists())
