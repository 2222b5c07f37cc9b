"""The due times of the tasks that one transaction moves: read with the clock, written and dropped with the move."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime

from django.db import connection

from pipelines.engine.core.locked import LockedTasks
from pipelines.models import ENDED, Due, Job

CLOCK = """SELECT clock_timestamp(),
                  ARRAY(SELECT nextval(pg_get_serial_sequence('pipelines_job', 'id')) FROM generate_series(1, %s)),
                  (SELECT json_agg(due) FROM pipelines_due due WHERE task_id = ANY(%s)),
                  (SELECT json_object_agg(task_id, names) FROM (
                     SELECT waits.task_id, json_object_agg('WI-' || project.key || '-' || other.number, other.status
                                                            ORDER BY other.id) names
                     FROM pipelines_dependency waits JOIN pipelines_task other ON other.id = waits.on_id
                       JOIN pipelines_project project ON project.id = other.project_id
                     WHERE waits.task_id = ANY(%s) AND other.status <> 'completed' GROUP BY waits.task_id) unmet)"""

Unmet = dict[int, dict[str, str]]
"""Of tasks that wait for others: the names of those that are not completed, with their states."""


def clock(jobs: int, task_ids: Collection[int]) -> tuple[datetime, Iterator[int], dict[int, Due], Unmet]:
    """One statement: the time after the lock, ids for as many jobs as will be opened at least, the due times of these
    tasks, and what they wait for."""
    with connection.cursor() as cursor:
        cursor.execute(CLOCK, [jobs, list(task_ids), list(task_ids)])
        now, ids, found, unmet = cursor.fetchone()
    times = {"set_at", "due_at"}
    read = [
        Due(
            **{name: datetime.fromisoformat(value) if name in times else value for name, value in row.items()}
        )
        for row in found or ()
    ]
    waits = {int(pk): names for pk, names in (unmet or {}).items()}
    return now, iter(ids), {due.pk: due for due in read}, waits


def write(batch: LockedTasks, new: Iterable[Due], dropped: Iterable[int]) -> None:
    """What is over goes first: one of the same kind and key may take its place."""
    over = {*dropped, *(due.pk for due in batch.dues.values() if _is_over(batch, due))}
    if over:
        Due.objects.filter(pk__in=over).delete()
    # Who frees an agent tells those that wait for it without their locks: the same time may be there already.
    kept = [due for due in new if not _is_over(batch, due)]
    Due.objects.bulk_create(kept, ignore_conflicts=True)


def _is_over(batch: LockedTasks, due: Due) -> bool:
    """Whether what waited does not wait any more: its task or token ended, its token moved on, its job is done."""
    if batch.tasks[due.task_id].status in ENDED:
        return True
    if due.job_id is not None:
        job = batch.jobs.get(due.job_id)
        if job is None or job.state == Job.State.DONE:
            return True
    if due.token_id is None:
        return False
    token = batch.tokens.get(due.token_id)
    return token is None or token.status in ENDED or token.forked or token.entered_at > due.set_at
