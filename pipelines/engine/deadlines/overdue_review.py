"""A gate whose due time has passed: do what its `due.then` says, which is never an approval (law §6)."""

from __future__ import annotations

from typing import Any

from pipelines.engine.commands.vote import decide_visit
from pipelines.engine.commands.vote_request import CHOOSES, VoteRequest
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.values import ENGINE
from pipelines.engine.moves import escalations
from pipelines.engine.moves.absences import deciders, stand_ins
from pipelines.engine.moves.completion import GATE_DUE, SOON
from pipelines.engine.moves.entitlement import people_of
from pipelines.engine.moves.gates import due_time_after, gate_of, policy_at
from pipelines.models import Due, Event, GateVisit, Task, User, Word
from pipelines.ports import observers
from pipelines.queries import versions
from pipelines.routing.document.line import Gate, ParsedLine


def handle_gate_due(batch: Batch, due: Due) -> None:
    """Handle due times of kind `gate`."""
    assert due.visit_id is not None
    visit = GateVisit.objects.select_related("task", "job", "asked_by").get(pk=due.visit_id)
    line = versions.by_id(visit.asked_by.pinned_id)
    gate = gate_of(line, visit.gate)
    assert gate is not None and gate.due is not None
    if due.key.endswith(SOON):
        _remind(batch, visit, gate, 0)
    elif gate.due.then == "reject":
        _reject(batch, visit, line, gate)
    else:
        number = _say(batch, visit, gate.due.then)
        # One escalation, however often it is told after that
        if gate.due.then == "escalate" and number == 1:
            _escalate(batch, visit, line, gate)
        else:
            _remind(batch, visit, gate, number)
        # law §6, Due times: again after `every`, at most `times` times
        if gate.due.every and number <= gate.due.max_reminders:
            again = due_time_after(visit.task, gate.due, batch.now, gate.due.every)
            batch.set_due(GATE_DUE, batch.tasks[visit.task_id], again, key=str(visit.pk), visit=visit)
    batch.flush()


def _remind(batch: Batch, visit: GateVisit, gate: Gate, number: int) -> None:
    """`number`: 0 before it is due."""
    to = _addresses(visit.task, visit, gate)
    batch.emit(observers.GateOverdue(visit.pk, visit.task_id, to, batch.now, number))


def _say(batch: Batch, visit: GateVisit, then: str) -> int:
    """Record that the review is overdue. Returns how often that was recorded by now."""
    earlier_events = Event.objects.filter(task=visit.task_id, kind="gate.overdue", data__visit=str(visit.pk))
    number = earlier_events.count() + 1
    again: dict[str, Any] = {"number": number} if number > 1 else {}
    batch.event(
        batch.tasks[visit.task_id],
        "gate.overdue",
        ENGINE,
        token=batch.tokens[visit.token_id],
        source=visit.gate,
        target=visit.gate,
        trigger=f"due:{visit.gate}",
        visit=str(visit.pk),
        then=then,
        **again,
    )
    return number


def _escalate(batch: Batch, visit: GateVisit, line: ParsedLine, gate: Gate) -> None:
    """Open an escalation, until the review is decided or somebody with the role resolves it."""
    reason = f"Nobody decided at {gate.name} by {visit.due_at:%Y-%m-%d %H:%M} UTC."
    task = batch.tasks[visit.task_id]
    escalations.open_one(batch, task, line, "gate_overdue", ENGINE, visit=visit, reason=reason)


def _addresses(task: Task, visit: GateVisit, gate: Gate) -> tuple[str, ...]:
    """The addresses the gate notifies or, if it names none, those of everybody who can decide."""
    if gate.notify:
        return tuple(gate.notify)
    away = stand_ins([task.project_id])[task.project_id]
    policy = policy_at(visit, versions.by_id(visit.asked_by.pinned_id))
    may = deciders(people_of(task.project_id), away, visit, policy)
    people = User.objects.filter(pk__in=may).exclude(email="").order_by("pk")
    return tuple(dict.fromkeys(people.values_list("email", flat=True)))


def _reject(batch: Batch, visit: GateVisit, line: ParsedLine, gate: Gate) -> None:
    """Reject as a person would, by the gate's `on_reject`. Where a reviewer would choose the route, the task fails."""
    assert visit.due_at is not None
    chooses = (gate.on_reject or line.policy.on_reject) == CHOOSES
    request = VoteRequest(
        # law §6: a rejection that the clock cast says so.
        user=None,
        word=Word.REJECT,
        reason=f"Nobody decided by {visit.due_at:%Y-%m-%d %H:%M} UTC.",
        route="fail" if chooses else "",
        token_version=visit.token_version,
        evidence_digest=visit.evidence_digest,
        via="",
    )
    decide_visit(batch, batch.tasks[visit.task_id], batch.tokens[visit.token_id], visit, request)
