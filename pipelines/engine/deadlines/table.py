"""Table of what happens at a due time: one function per kind. Each gets the batch that holds the task's lock and the
due time, whose row is already deleted. It either flushes its changes, or calls another function of the engine and
leaves the batch unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial

from pipelines.engine.commands import deadlocks, dependencies, pauses
from pipelines.engine.commands.reconsider import handle_changed_facts
from pipelines.engine.commands.submit import TASK_DUE
from pipelines.engine.core.agent_capacity import FACTS
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.due_times import CLOCKS
from pipelines.engine.core.expected_times import LATE
from pipelines.engine.core.transaction import run
from pipelines.engine.core.unassigned import WAIT
from pipelines.engine.deadlines.late_task import handle_late_task
from pipelines.engine.deadlines.missed_response import handle_escalation_due
from pipelines.engine.deadlines.overdue_review import handle_gate_due
from pipelines.engine.deadlines.unanswered_question import handle_unanswered_question
from pipelines.engine.deadlines.wait_elapsed import handle_elapsed_wait
from pipelines.engine.moves import escalations
from pipelines.engine.moves.completion import GATE_DUE
from pipelines.engine.moves.evaluations import UNTAKEN
from pipelines.engine.moves.releases import CIRCLE, DEPENDENCY, RESUME
from pipelines.engine.statements import TAKE_DUE_TIME
from pipelines.models import Due
from pipelines.models.plumbing.compiled_queries import execute

Fires = Callable[[Batch, Due], None]

KINDS: dict[str, Fires] = {
    GATE_DUE: handle_gate_due,
    escalations.KIND: handle_escalation_due,
    WAIT: handle_elapsed_wait,
    FACTS: handle_changed_facts,
    LATE: deadlocks.handle_late_work,
    RESUME: deadlocks.handle_resume,
    DEPENDENCY: dependencies.handle_dependency_due,
    CIRCLE: dependencies.look_for_circle,
    UNTAKEN: handle_unanswered_question,
    TASK_DUE: handle_late_task,
    pauses.PAUSE: pauses.pause_task,
    pauses.RESUME_PAUSED: pauses.resume_task,
}
PAUSES = (pauses.PAUSE, pauses.RESUME_PAUSED)
BESIDES: dict[str, Callable[[int], Iterable[int]]] = {CIRCLE: dependencies.circle_party_ids}
"""Kinds that also need the locks of other tasks: which ones, by task id."""


def fire(due_id: int, now: datetime | None = None) -> str:
    """Fire this due time. Returns `fired`, or `gone` when the row no longer exists under its task's lock (another
    worker was first, or what it waited for ended) or is not due. `now`: the database's clock, unless told."""
    return run(partial(_fire, due_id, now))


def _fire(due_id: int, now: datetime | None) -> str:
    # house §2: found without a lock, locked, and looked at again under it.
    entry = Due.objects.filter(pk=due_id).values_list("task_id", "kind").first()
    if entry is None:
        return "gone"
    task_id, kind = entry
    batch = Batch.of_tasks(task_id, *(BESIDES[kind](task_id) if kind in BESIDES else ()))
    # law §17: its clock is stopped or moved first by a pause, made or over since it was looked for.
    if kind in CLOCKS and any(due.kind in PAUSES for due in batch.dues.values()):
        return "gone"
    # Out of the batch: the row is deleted here, and the flush looks through those that are left
    due = batch.dues.pop(due_id, None)
    if due is None or not _taken(due, now or batch.now):
        return "gone"
    KINDS[due.kind](batch, due)
    return "fired"


def _taken(due: Due, now: datetime) -> bool:
    # house §6: one conditional DELETE, so that one of several workers fires it
    return execute(TAKE_DUE_TIME, [due.pk, now]) == 1
