"""What is done when an escalation is not answered in time, or at once: one function per action, in one table."""

from __future__ import annotations

from collections.abc import Callable

from pipelines import ports
from pipelines.engine import roles
from pipelines.engine.batch import Batch
from pipelines.engine.pause import pause
from pipelines.engine.recorded import record
from pipelines.engine.values import ENGINE
from pipelines.models import Escalation, Incident, Task

REVIEW = "review"
"""The trigger of a review that is convened."""


def _block(batch: Batch, task: Task, escalation: Escalation) -> None:
    """No work on the task until it is resolved."""
    for token in batch.living(task):
        pause(batch, task, token, ENGINE, str(escalation.pk), trigger=escalation.trigger)


def _notify(batch: Batch, task: Task, escalation: Escalation) -> None:
    to = roles.addresses(task.project_id, *(escalation.notify or [escalation.role]))
    batch.tell(ports.Alarm("breached", escalation.pk, task.pk, to, batch.now))


def _create_incident(batch: Batch, task: Task, escalation: Escalation) -> None:
    title = f"{task.name}: {escalation.trigger} was not answered by {escalation.role}"[:300]
    Incident.objects.get_or_create(
        escalation=escalation, defaults={"task": task, "title": title, "opened_at": batch.now}
    )


def _suspend_agent(batch: Batch, task: Task, escalation: Escalation) -> None:
    """Kept in the event of the breach."""


def _convene_review(batch: Batch, task: Task, escalation: Escalation) -> None:
    """One more that each of these roles resolves; until then the task may not go forward."""
    for role in escalation.notify or [escalation.role]:
        reason = f"A review is convened: {escalation.trigger} was not answered by {escalation.role} in time."
        convened = Escalation(
            task=task,
            trigger=REVIEW,
            role=role,
            station=escalation.station,
            reason=reason,
            opened_by=str(ENGINE),
            opened_at=batch.now,
        )
        record(batch, task, convened, ENGINE)


ACTIONS: dict[str, Callable[[Batch, Task, Escalation], None]] = {
    "block": _block,
    "notify": _notify,
    "create_incident": _create_incident,
    "suspend_agent": _suspend_agent,
    "convene_review": _convene_review,
}
