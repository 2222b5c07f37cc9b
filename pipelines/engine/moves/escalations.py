"""Opening and closing escalations, inside the move that causes it (law §8)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from pipelines.engine.core.agent_capacity import FACTS
from pipelines.engine.core.batch import Batch
from pipelines.engine.moves import deadlock_records, escalation_actions
from pipelines.engine.moves.escalation_records import KIND, Who, record, record_escalation_event
from pipelines.engine.moves.pausing import let_go, paused_by_test
from pipelines.models import Escalation, GateVisit, Status, Task, Token, User
from pipelines.ports import observers
from pipelines.routing.decide.steps.preconditions import NO_ESCALATION
from pipelines.routing.decide.transitions import CONTRADICTION
from pipelines.routing.document.line import ParsedLine


def open_one(
    batch: Batch,
    task: Task,
    line: ParsedLine,
    trigger: str,
    actor: Who,
    *,
    token: Token | None = None,
    visit: GateVisit | None = None,
    role: str = "",
    rule: str = "",
    reason: str = "",
) -> Escalation:
    """Open an escalation as `line` defines it for this trigger; `role` overrides whom it asks. From now on the task
    cannot move forward, and the role is notified."""
    policy = line.escalation_rule(trigger)
    opened = Escalation(
        task=task,
        token=token,
        visit_id=visit.pk if visit else None,
        trigger=trigger,
        role=role or policy.role,
        station=token.station if token else "",
        rule=rule,
        reason=reason,
        opened_by=str(actor)[:200],
        opened_at=batch.now,
        due_at=None if policy.sla is None else batch.now + timedelta(seconds=float(policy.sla)),
        on_breach=list(policy.on_breach),
        notify=list(policy.notify),
    )
    record(batch, task, opened, actor, at_once=list(policy.at_once))
    for action in policy.at_once:
        escalation_actions.ACTIONS[action](batch, task, opened)
    return opened


def open_escalations(task: Task) -> list[Escalation]:
    """Open escalations, oldest first. No query if there are none."""
    if not task.escalations:
        return []
    rows = Escalation.objects.filter(task=task.pk, state=Escalation.State.OPEN)
    return list(rows.select_related("task__project").order_by("opened_at", "pk"))


def close(
    batch: Batch,
    task: Task,
    escalation: Escalation,
    how: str,
    actor: Who,
    *,
    by: User | None = None,
    answer: str = "",
    route: str = "",
    context: Mapping[str, Any] | None = None,
) -> None:
    """Close the escalation, once, and release what it held. `context`: values that a person chose, which count from
    now on."""
    values = {
        "state": Escalation.State.RESOLVED,
        "how": how,
        "resolved_by": by,
        "answer": answer,
        "route": route,
        "resolved_at": batch.now,
    }
    for name, value in values.items():
        setattr(escalation, name, value)
    escalation.save(update_fields=list(values))
    task.escalations -= 1
    batch.drop_due(KIND, task, str(escalation.pk))
    batch.emit(observers.AlarmSettled(escalation.pk, task.pk, batch.now))
    record_escalation_event(
        batch,
        escalation,
        task,
        "escalation.resolved",
        actor,
        how=how,
        reason=answer,
        route=route,
        context=dict(context or {}),
    )
    if escalation.trigger == CONTRADICTION:
        deadlock_records.close_contradiction(batch, task, escalation, actor)
    for token in batch.living(task):
        let_go(batch, task, token, actor, paused_by_test(escalation.pk))


def close_all(batch: Batch, task: Task, actor: Who) -> None:
    """Close every open escalation of a task that has ended."""
    for escalation in open_escalations(task):
        close(batch, task, escalation, Escalation.How.ENDED, actor)


def close_for_visit(batch: Batch, task: Task, visit: GateVisit, actor: Who) -> None:
    """Close the escalations of an overdue review that is now decided or closed."""
    for escalation in open_escalations(task):
        if escalation.visit_id == visit.pk:
            close(batch, task, escalation, Escalation.How.DECIDED, actor)
            _wake(batch, task)


def _wake(batch: Batch, task: Task) -> None:
    """Decide the branches again that the escalation kept from moving forward, each with a cause of its own."""
    for token in batch.living(task):
        waits_for_escalation = token.status == Status.HELD and NO_ESCALATION in token.wait.get("missing", ())
        # Only with the last one (docs/escalations.md): until then the same would hold it again
        if waits_for_escalation and not task.escalations:
            batch.set_due(FACTS, task, batch.now, key=str(token.pk), token=token)


def of_token(task: Task, token: Token, trigger: str) -> Escalation | None:
    """The open escalation of this trigger at this position, so that nobody is notified twice."""
    return next((e for e in open_escalations(task) if (e.token_id, e.trigger) == (token.pk, trigger)), None)
