"""Recording an escalation: its row, the task's counter, the event and the notifications."""

from __future__ import annotations

from typing import Any

from pipelines.engine.core.batch import Batch
from pipelines.engine.core.due_times import ESCALATION_DUE
from pipelines.engine.core.values import Actor
from pipelines.engine.moves import roles
from pipelines.models import Escalation, Task
from pipelines.ports import observers

KIND = ESCALATION_DUE
"""The kind of the due time of an answer; its key is the escalation's."""

Who = Actor | str


def record(batch: Batch, task: Task, opened: Escalation, actor: Who, **data: Any) -> None:
    """Record an open escalation: count it, write its event and notify those who may resolve it."""
    opened.save(force_insert=True)
    task.escalations += 1
    if opened.due_at:
        batch.set_due(KIND, task, opened.due_at, key=str(opened.pk))
    record_escalation_event(batch, opened, task, "escalation.opened", actor, reason=opened.reason, **data)
    to = roles.addresses(task.project_id, opened.role)
    batch.emit(observers.Alarm("escalated", opened.pk, task.pk, to, batch.now))


def record_escalation_event(
    batch: Batch, escalation: Escalation, task: Task, kind: str, actor: Who, **data: Any
) -> None:
    """Write an event about it. `escalations`: how many are open afterwards, for folding."""
    batch.event(
        task,
        kind,
        actor,
        token=batch.tokens.get(escalation.token_id) if escalation.token_id else None,
        source=escalation.station,
        target=escalation.station,
        trigger=f"escalation:{escalation.trigger}"[:120],
        escalation=str(escalation.pk),
        escalated=escalation.trigger,
        role=escalation.role,
        escalations=task.escalations,
        **data,
    )
