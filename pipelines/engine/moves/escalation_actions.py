"""Actions of an escalation, at once or when it is not answered in time: one function per action, in one table."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from pipelines.engine.core.batch import Batch
from pipelines.engine.core.payload import LONGEST_TEXT
from pipelines.engine.core.values import ENGINE
from pipelines.engine.moves import roles
from pipelines.engine.moves.agent_suspension import suspend
from pipelines.engine.moves.escalation_records import record
from pipelines.engine.moves.pausing import hold_besides
from pipelines.errors import Conflict
from pipelines.models import Agent, Escalation, Incident, Task
from pipelines.ports import observers
from pipelines.queries import versions
from pipelines.routing.decide.holds import pause_hold, review_roles
from pipelines.routing.document.escalations import REVIEW


def _block(batch: Batch, task: Task, escalation: Escalation) -> None:
    """No work on the task until it is resolved."""
    for token in batch.living(task):
        hold_besides(batch, task, token, ENGINE, pause_hold(str(escalation.pk), escalation.trigger))


def _notify(batch: Batch, task: Task, escalation: Escalation) -> None:
    to = roles.addresses(task.project_id, *(escalation.notify or [escalation.role]))
    kind = "breached" if escalation.breached_at else "escalated"
    batch.emit(observers.Alarm(kind, escalation.pk, task.pk, to, batch.now))


def _create_incident(batch: Batch, task: Task, escalation: Escalation) -> None:
    title = f"{task.name}: {_what(escalation)}"[:300]
    # The action may run at once and at the breach; of both there is one (docs/escalations.md)
    Incident.objects.get_or_create(
        escalation=escalation, defaults={"task": task, "title": title, "opened_at": batch.now}
    )


def _suspend_agent(batch: Batch, task: Task, escalation: Escalation) -> None:
    """Suspend the agents where the escalation arose, or else those that work on the task now. Agents that are already
    suspended stay so, and the breach event names them again (AEEF E19)."""
    line = versions.by_id(task.pinned_id)
    places = [escalation.station] if escalation.station else [token.station for token in batch.living(task)]
    known = (line.stations_by_key.get(place) for place in places)
    keys = {station.agent for station in known if station and station.agent}
    agents = Agent.objects.filter(project=task.project_id, key__in=keys, suspended_at=None).order_by("pk")
    why = f"{task.name}: {escalation.trigger}. {escalation.reason}".strip()[:LONGEST_TEXT]
    # By their ids, in the order in which every transaction locks agents
    for pk in list(agents.values_list("pk", flat=True)):
        # Somebody else may have suspended it at the same moment.
        with suppress(Conflict):
            suspend(pk, actor=ENGINE, reason=why)


def _convene_review(batch: Batch, task: Task, escalation: Escalation) -> None:
    """Open another escalation for each of these roles; the task cannot move forward until all are resolved. A role
    that is already asked is not asked twice."""
    about = Escalation.objects.filter(task=task.pk, trigger=REVIEW, station=escalation.station)
    open_roles = set(about.filter(state=Escalation.State.OPEN).values_list("role", flat=True))
    for role in review_roles(escalation.notify, escalation.role, open_roles):
        reason = f"A review is convened: {_what(escalation)}."
        review = Escalation(
            task=task,
            trigger=REVIEW,
            role=role,
            station=escalation.station,
            reason=reason,
            opened_by=str(ENGINE),
            opened_at=batch.now,
        )
        record(batch, task, review, ENGINE)


def _what(escalation: Escalation) -> str:
    if escalation.breached_at:
        return f"{escalation.trigger} was not answered by {escalation.role} in time"
    return f"{escalation.trigger} was escalated to {escalation.role}"


ACTIONS: dict[str, Callable[[Batch, Task, Escalation], None]] = {
    "block": _block,
    "notify": _notify,
    "create_incident": _create_incident,
    "suspend_agent": _suspend_agent,
    "convene_review": _convene_review,
}
