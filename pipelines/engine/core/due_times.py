"""The due times of the tasks that one transaction moves: written and dropped with the move."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.engine.core.clocks import is_paused
from pipelines.engine.core.locked_tasks import LockedTasks
from pipelines.engine.statements import PAUSE_DEADLINES
from pipelines.models import ENDED, Due, Job
from pipelines.models.plumbing.compiled_queries import execute


def write(batch: LockedTasks, new: Iterable[Due], dropped: Iterable[int]) -> None:
    """Write due times. Those that are over go first: one of the same kind and key may take their place."""
    over = {*dropped, *(due.pk for due in batch.dues.values() if _is_over(batch, due))}
    if over:
        Due.objects.filter(pk__in=over).delete()
    # Who frees an agent tells those that wait for it without their locks: the same time may be there already.
    pending = [due for due in new if not _is_over(batch, due)]
    for due in pending:
        if is_paused(batch, due):
            due.paused_at = batch.now
    Due.objects.bulk_create(pending, ignore_conflicts=True)
    if paused := [due.task_id for due in pending if due.paused_at]:
        execute(PAUSE_DEADLINES, [paused, paused])


def _is_over(batch: LockedTasks, due: Due) -> bool:
    """Return whether the due time's subject waits no more: its task or token ended, its token moved on, its
    job is done."""
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
