"""Due times that a pause stops, and which of them stand still (law §17)."""

from __future__ import annotations

from collections.abc import Collection

from pipelines.engine.core.locked_tasks import LockedTasks
from pipelines.engine.core.pause_span import PauseSpan
from pipelines.models import Due, GateVisit

GATE_DUE, ESCALATION_DUE, TASK_DUE, WAIT = "gate", "escalation", "task", "wait"
"""Kinds of due times: of a gate visit (its key is the visit's), an escalation, a whole task, and a timed wait."""
CLOCKS = frozenset({GATE_DUE, ESCALATION_DUE, TASK_DUE, WAIT})
"""Kinds that a pause stops. Work that runs has its own (`expected_times`), and runs on."""


def is_paused(batch: LockedTasks, due: Due) -> bool:
    """Return whether a pause in force stops this clock."""
    return any(pause.in_force for pause in covering(batch, due, batch.pauses.get(due.task_id, ())))


def covering(batch: LockedTasks, due: Due, pauses: Collection[PauseSpan]) -> list[PauseSpan]:
    """Return those of the pauses of its task that stop this clock."""
    if due.kind not in CLOCKS or not pauses:
        return []
    station = _station(batch, due) if any(pause.station for pause in pauses) else None
    return [pause for pause in pauses if pause.covers(station)]


def _station(batch: LockedTasks, due: Due) -> str | None:
    """Return the station whose position waits for it; None: it is of the task as a whole."""
    if due.job_id is not None:
        job = batch.jobs.get(due.job_id)
        return job.station if job else None
    if due.visit_id is not None:
        visits = GateVisit.objects.filter(pk=due.visit_id)
        return visits.values_list("token__station", flat=True).first()
    token = batch.tokens.get(due.token_id) if due.token_id else None
    return token.station if token else None
