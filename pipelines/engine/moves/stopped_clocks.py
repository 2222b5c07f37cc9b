"""Due times under a pause: their clock stands still, and goes on when the last pause is over (law §17)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

from pipelines.engine.core.batch import Batch
from pipelines.engine.core.due_times import ESCALATION_DUE, TASK_DUE, covering, is_paused
from pipelines.engine.core.loading import PauseSpan
from pipelines.engine.statements import PAUSE_DEADLINES, PAUSE_DUE_TIMES, RESUME_DUE_TIMES
from pipelines.models import Due, Escalation, GateVisit, Task
from pipelines.models.plumbing.compiled_queries import execute
from pipelines.ports import observers


def stop(batch: Batch, dues: Iterable[Due], pauses: Collection[PauseSpan]) -> None:
    """Stop those clocks that one of these pauses covers: since it began, or since the time was set."""
    stopped = []
    for due in dues:
        if due.paused_at is None and (over := covering(batch, due, pauses)):
            due.paused_at = max(due.set_at, min(pause.since for pause in over))
            stopped.append(due)
    if stopped:
        execute(PAUSE_DUE_TIMES, [[due.pk for due in stopped], [due.paused_at for due in stopped]])
        _show(batch, stopped)


def go_on(batch: Batch, task: Task) -> dict[str, str]:
    """Move what no pause covers any more by as long as it was covered. Returns the new instants, by kind and key."""
    going = [due for due in batch.dues.values() if due.paused_at is not None and not is_paused(batch, due)]
    if not going:
        return {}
    spans = batch.pauses.get(task.pk, ())
    moved: dict[str, str] = {}
    for due in going:
        shift = covered(due, covering(batch, due, spans))
        _move_subject(batch, task, due, shift)
        due.due_at += shift
        moved[f"{due.kind}:{due.key}" if due.key else due.kind] = due.due_at.isoformat()
    execute(RESUME_DUE_TIMES, [[due.pk for due in going], [due.due_at for due in going]])
    _show(batch, going)
    return moved


def _show(batch: Batch, dues: Collection[Due]) -> None:
    """Write to tasks and gate visits whether their clocks stand still, and tell those that list them."""
    tasks = list({due.task_id for due in dues})
    execute(PAUSE_DEADLINES, [tasks, tasks])
    for visit in GateVisit.objects.filter(pk__in={due.visit_id for due in dues if due.visit_id}):
        batch.emit(observers.GateDueMoved(visit.pk, visit.task_id, visit.running_due_at))


def covered(due: Due, pauses: Sequence[PauseSpan]) -> timedelta:
    """Return for how long its clock stood still: the time since `paused_at` in which any of these pauses, the earliest
    first, was in force."""
    at, shift = due.paused_at, timedelta()
    assert at is not None
    for pause in pauses:
        begin = max(at, pause.since)
        if pause.ended_at is not None and pause.ended_at > begin:
            shift, at = shift + (pause.ended_at - begin), pause.ended_at
    return shift


def _move_subject(batch: Batch, task: Task, due: Due, shift: timedelta) -> None:
    """Move the instants that people see, and by which lists are sorted."""
    if due.visit_id is not None:
        visit = GateVisit.objects.get(pk=due.visit_id)
        # Reminders before it, and again after it, have other instants: what was overdue before stays so.
        if visit.due_at == due.due_at:
            visit.due_at += shift
            visit.save(update_fields=["due_at"])
    elif due.kind == ESCALATION_DUE:
        for row in Escalation.objects.filter(pk=due.key, due_at__isnull=False):
            row.due_at = _later(row.due_at, shift)
            row.save(update_fields=["due_at"])
    elif due.kind == TASK_DUE and task.due_at is not None:
        task.due_at += shift
        batch.mark_task_changed(task, "due_at")


def _later(at: datetime | None, shift: timedelta) -> datetime | None:
    return at + shift if at else None
