"""The due times of the tasks that one transaction moves: written and dropped with the move, and stopped by a pause
(law §17)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta

from pipelines.engine.core.transaction import LockedTasks, PauseSpan
from pipelines.engine.statements import PAUSE_DEADLINES
from pipelines.models import ENDED, Due, Escalation, GateVisit, Job
from pipelines.models.plumbing.compiled_queries import execute
from pipelines.ports import due_notices

GATE_DUE, ESCALATION_DUE, TASK_DUE, WAIT = "gate", "escalation", "task", "wait"
"""Kinds of due times: of a gate visit (its key is the visit's), an escalation, a whole task, and a timed wait."""
CLOCKS = frozenset({GATE_DUE, ESCALATION_DUE, TASK_DUE, WAIT})
"""Kinds that a pause stops."""
LATE = "deadlock"
"""The kind of the due time at which work is late (`expected_times`); its key is the token's. A pause stops that of
people: what a worker does under it runs on."""
PAUSABLE = CLOCKS | {LATE}
MANUAL = "manual"
"""The kind of the jobs that people do."""


def replace_due_times(batch: LockedTasks, new: Iterable[Due], dropped: Iterable[int]) -> None:
    """Write due times. Those that are over go first: one of the same kind and key may take their place."""
    over = {*dropped, *(due.pk for due in batch.dues.values() if _is_over(batch, due))}
    if over:
        Due.objects.filter(pk__in=over).delete()
    # Who frees an agent tells those that wait for it without their locks: the same time may be there already.
    pending = [due for due in new if not _is_over(batch, due)]
    for due in pending:
        if is_clock_paused(batch, due):
            due.paused_at = batch.now
    Due.objects.bulk_create(pending, ignore_conflicts=True)
    if paused := [due.task_id for due in pending if due.paused_at]:
        execute(PAUSE_DEADLINES, [paused, paused])
    soon = batch.now + timedelta(seconds=due_notices.LOOK_SECONDS)
    if any(due.due_at < soon and not due.paused_at for due in pending):
        due_notices.announce_due_times_on_commit()


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
    # Entered since then: it is at another station, or at this one once more
    return token is None or token.status in ENDED or token.forked or token.entered_at > due.set_at


def is_clock_paused(batch: LockedTasks, due: Due) -> bool:
    """Return whether a pause in force stops this clock."""
    return any(
        pause.is_in_force for pause in pauses_stopping_clock(batch, due, batch.pauses.get(due.task_id, ()))
    )


def pauses_stopping_clock(batch: LockedTasks, due: Due, pauses: Collection[PauseSpan]) -> list[PauseSpan]:
    """Return those of the pauses of its task that stop this clock."""
    if not pauses or not (due.kind in CLOCKS or _is_work_of_people(batch, due)):
        return []
    # A pause of the whole task covers it wherever it is
    station = (
        _station_waiting_for_due_time_or_none(batch, due) if any(pause.station for pause in pauses) else None
    )
    return [pause for pause in pauses if pause.covers_work_at_station(station)]


def _is_work_of_people(batch: LockedTasks, due: Due) -> bool:
    """Return whether it is the due time of work that a person does now."""
    return due.kind == LATE and any(
        job.token_id == due.token_id and job.state == Job.State.RUNNING and job.kind == MANUAL
        for job in batch.jobs.values()
    )


def _station_waiting_for_due_time_or_none(batch: LockedTasks, due: Due) -> str | None:
    """Return the station whose position waits for it; None: it is of the task as a whole."""
    if due.job_id is not None:
        job = batch.jobs.get(due.job_id)
        return job.station if job else None
    if due.visit_id is not None:
        visits = GateVisit.objects.filter(pk=due.visit_id)
        return visits.values_list("token__station", flat=True).first()
    token_id = due.token_id
    if due.kind == ESCALATION_DUE:
        # Its row names no token, with which it would be dropped as soon as that moves on
        token_id = Escalation.objects.filter(pk=due.key).values_list("token_id", flat=True).first()
    token = batch.tokens.get(token_id) if token_id else None
    return token.station if token else None
