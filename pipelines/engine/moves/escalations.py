"""Opening and closing escalations, inside the move that causes it (law §8), and their actions, at once or when nobody
answers in time: one function per action, in one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

from pipelines.engine.core.agent_capacity import FACTS
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.due_times import ESCALATION_DUE
from pipelines.engine.core.payload import LONGEST_TEXT
from pipelines.engine.core.values import ENGINE, Actor
from pipelines.engine.moves import deadlock_records, roles
from pipelines.engine.moves.agent_suspension import suspend_agent
from pipelines.engine.moves.pausing import add_hold, is_hold_paused_by, release_matching_holds
from pipelines.errors import Conflict
from pipelines.models import Agent, Escalation, GateVisit, Incident, Status, Task, Token, User
from pipelines.ports import observers
from pipelines.queries import versions
from pipelines.routing.decide.effects import hold_until_escalation_resolved, roles_to_ask_for_review
from pipelines.routing.decide.steps.preconditions import NO_ESCALATION
from pipelines.routing.decide.transitions import CONTRADICTION
from pipelines.routing.document.escalations import REVIEW
from pipelines.routing.document.line import ParsedLine


def open_escalation(
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
    save_escalation_and_notify(batch, task, opened, actor, at_once=list(policy.at_once))
    for action in policy.at_once:
        ACTIONS[action](batch, task, opened)
    return opened


def open_escalations_of_task(task: Task) -> list[Escalation]:
    """Open escalations, oldest first. No query if there are none."""
    if not task.escalations:
        return []
    rows = Escalation.objects.filter(task=task.pk, state=Escalation.State.OPEN)
    return list(rows.select_related("task__project").order_by("opened_at", "pk"))


def close_escalation_and_release(
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
    # A counter in the row: most moves see there that none is open, and ask nothing
    task.escalations -= 1
    batch.drop_due_time(KIND, task, str(escalation.pk))
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
    # A contradiction paused the agents that wrote it, by a deadlock of its own
    if escalation.trigger == CONTRADICTION:
        deadlock_records.close_contradiction_and_free_agents(batch, task, escalation, actor)
    for token in batch.living_tokens(task):
        # It may have held every branch, and something else may hold one of them as well
        release_matching_holds(batch, task, token, actor, is_hold_paused_by(escalation.pk))


def close_all_escalations(batch: Batch, task: Task, actor: Who) -> None:
    """Close every open escalation of a task that has ended."""
    for escalation in open_escalations_of_task(task):
        close_escalation_and_release(batch, task, escalation, Escalation.How.ENDED, actor)


def close_escalations_of_visit(batch: Batch, task: Task, visit: GateVisit, actor: Who) -> None:
    """Close the escalations of an overdue review that is now decided or closed."""
    for escalation in open_escalations_of_task(task):
        if escalation.visit_id == visit.pk:
            close_escalation_and_release(batch, task, escalation, Escalation.How.DECIDED, actor)
            _schedule_tokens_held_by_escalation(batch, task)


def _schedule_tokens_held_by_escalation(batch: Batch, task: Task) -> None:
    """Decide the branches again that the escalation kept from moving forward, each with a cause of its own."""
    for token in batch.living_tokens(task):
        waits_for_escalation = token.status == Status.HELD and NO_ESCALATION in token.wait.get("missing", ())
        # Only with the last one (docs/escalations.md): until then the same would hold it again
        if waits_for_escalation and not task.escalations:
            batch.schedule_due_time(FACTS, task, batch.now, key=str(token.pk), token=token)


def find_open_escalation(task: Task, token: Token, trigger: str) -> Escalation | None:
    """The open escalation of this trigger at this position, so that nobody is notified twice."""
    return next(
        (e for e in open_escalations_of_task(task) if (e.token_id, e.trigger) == (token.pk, trigger)), None
    )


def _hold_all_tokens_until_resolved(batch: Batch, task: Task, escalation: Escalation) -> None:
    """No work on the task until it is resolved."""
    for token in batch.living_tokens(task):
        add_hold(
            batch, task, token, ENGINE, hold_until_escalation_resolved(str(escalation.pk), escalation.trigger)
        )


def _notify_resolvers(batch: Batch, task: Task, escalation: Escalation) -> None:
    to = roles.role_mail_addresses(task.project_id, *(escalation.notify or [escalation.role]))
    kind = "breached" if escalation.breached_at else "escalated"
    batch.emit(observers.Alarm(kind, escalation.pk, task.pk, to, batch.now))


def _create_incident(batch: Batch, task: Task, escalation: Escalation) -> None:
    title = f"{task.name}: {_escalation_sentence(escalation)}"[:300]
    # The action may run at once and at the breach; of both there is one (docs/escalations.md)
    Incident.objects.get_or_create(
        escalation=escalation, defaults={"task": task, "title": title, "opened_at": batch.now}
    )


def _suspend_agents_involved(batch: Batch, task: Task, escalation: Escalation) -> None:
    """Suspend the agents where the escalation arose, or else those that work on the task now. Agents that are already
    suspended stay so, and the breach event names them again (AEEF E19)."""
    line = versions.parsed_line_by_version_id(task.pinned_id)
    places = (
        [escalation.station] if escalation.station else [token.station for token in batch.living_tokens(task)]
    )
    known = (line.stations_by_key.get(place) for place in places)
    keys = {station.agent for station in known if station and station.agent}
    agents = Agent.objects.filter(project=task.project_id, key__in=keys, suspended_at=None).order_by("pk")
    why = f"{task.name}: {escalation.trigger}. {escalation.reason}".strip()[:LONGEST_TEXT]
    # By their ids, in the order in which every transaction locks agents
    for pk in list(agents.values_list("pk", flat=True)):
        # Somebody else may have suspended it at the same moment.
        with suppress(Conflict):
            suspend_agent(pk, actor=ENGINE, reason=why)


def _escalate_to_review_roles(batch: Batch, task: Task, escalation: Escalation) -> None:
    """Open another escalation for each of these roles; the task cannot move forward until all are resolved. A role
    that is already asked is not asked twice."""
    about = Escalation.objects.filter(task=task.pk, trigger=REVIEW, station=escalation.station)
    open_roles = set(about.filter(state=Escalation.State.OPEN).values_list("role", flat=True))
    for role in roles_to_ask_for_review(escalation.notify, escalation.role, open_roles):
        reason = f"A review is convened: {_escalation_sentence(escalation)}."
        review = Escalation(
            task=task,
            trigger=REVIEW,
            role=role,
            station=escalation.station,
            reason=reason,
            opened_by=str(ENGINE),
            opened_at=batch.now,
        )
        save_escalation_and_notify(batch, task, review, ENGINE)


def _escalation_sentence(escalation: Escalation) -> str:
    if escalation.breached_at:
        return f"{escalation.trigger} was not answered by {escalation.role} in time"
    return f"{escalation.trigger} was escalated to {escalation.role}"


ACTIONS: dict[str, Callable[[Batch, Task, Escalation], None]] = {
    "block": _hold_all_tokens_until_resolved,
    "notify": _notify_resolvers,
    "create_incident": _create_incident,
    "suspend_agent": _suspend_agents_involved,
    "convene_review": _escalate_to_review_roles,
}


KIND = ESCALATION_DUE
"""The kind of the due time of an answer; its key is the escalation's."""

Who = Actor | str


def save_escalation_and_notify(batch: Batch, task: Task, opened: Escalation, actor: Who, **data: Any) -> None:
    """Record an open escalation: count it, write its event and notify those who may resolve it."""
    opened.save(force_insert=True)
    task.escalations += 1
    if opened.due_at:
        batch.schedule_due_time(KIND, task, opened.due_at, key=str(opened.pk))
    record_escalation_event(batch, opened, task, "escalation.opened", actor, reason=opened.reason, **data)
    to = roles.role_mail_addresses(task.project_id, opened.role)
    batch.emit(observers.Alarm("escalated", opened.pk, task.pk, to, batch.now))


def record_escalation_event(
    batch: Batch, escalation: Escalation, task: Task, kind: str, actor: Who, **data: Any
) -> None:
    """Write an event about it. `escalations`: how many are open afterwards, for folding."""
    batch.append_event(
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
