"""Escalations of a task over HTTP: look at them, escalate, resolve (law §8)."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from pipelines import engine
from pipelines.api.auth import Request, caller_actor, require_person
from pipelines.api.lookup import CHANGES, TASK, Operations, action_required
from pipelines.api.schemas import StrictBody
from pipelines.errors import NotFound
from pipelines.models import Deadlock, Escalation, Task

router = Operations("escalations", CHANGES)
HERE = TASK + "/escalations"


class EscalateIn(StrictBody):
    trigger: str
    reason: str


class ResolveIn(StrictBody):
    """`word`: go_on, retry, cancel, route (then `route` names a station) or choose (then the branch that counts)."""

    word: str
    reason: str
    route: str = ""


class EscalationOut(BaseModel):
    """`role`: who answers, as the line calls them; `due`: until when; `breached`: when it was not answered in time.
    `how`, `answer` and `by` once it is resolved."""

    id: UUID
    trigger: str
    role: str
    station: str
    reason: str
    state: str
    opened: datetime
    opened_by: str
    due: datetime | None
    on_breach: list[str]
    breached: datetime | None
    how: str
    route: str
    answer: str
    by: str
    resolved: datetime | None


@router.get(HERE, response=list[EscalationOut], summary="Escalations, the oldest first")
def index(request: Request, task: Task) -> list[EscalationOut]:
    rows = Escalation.objects.filter(task=task).select_related("resolved_by").order_by("opened_at", "pk")
    return [_escalation_out(row) for row in rows]


@router.post(HERE, response={201: EscalationOut}, summary="Escalate a task")
@action_required("operate")
def escalate(request: Request, task: Task, payload: EscalateIn) -> EscalationOut:
    """The task does not go forward until somebody of the role resolves it. Only a person escalates by hand."""
    person = require_person(request.auth)
    opened = engine.escalate(task.pk, user=person, trigger=payload.trigger, reason=payload.reason)
    return _escalation_out(opened)


@router.post(HERE + "/{escalation}/resolve", response=EscalationOut, summary="Resolve it")
@action_required("decide")
def resolve(
    request: Request,
    task: Task,
    escalation: UUID,
    payload: ResolveIn,
) -> EscalationOut:
    """Once, by a person of its role or an administrator of the project, with a token that may decide. 409: it was
    resolved already, or the same would be escalated again."""
    person = require_person(request.auth)
    # law §1: down the path. An escalation of another task is none here.
    if not Escalation.objects.filter(task=task, pk=escalation).exists():
        raise NotFound()
    engine.resolve_escalation(
        escalation, user=person, word=payload.word, reason=payload.reason, route=payload.route
    )
    # Read anew: the engine has written a row of its own
    return _escalation_out(Escalation.objects.select_related("resolved_by").get(pk=escalation))


def _escalation_out(row: Escalation) -> EscalationOut:
    return EscalationOut(
        id=row.pk,
        trigger=row.trigger,
        role=row.role,
        station=row.station,
        reason=row.reason,
        state=row.state,
        opened=row.opened_at,
        opened_by=row.opened_by,
        due=row.due_at,
        on_breach=list(row.on_breach),
        breached=row.breached_at,
        how=row.how,
        route=row.route,
        answer=row.answer,
        by=str(row.resolved_by or ""),
        resolved=row.resolved_at,
    )


# Deadlocks

LOCKS = HERE.removesuffix("escalations") + "deadlocks"


class UnlockIn(StrictBody):
    """`word`: output (then `output` is any JSON value), context, escalate or cancel."""

    word: str
    reason: str
    output: Any = None


class DeadlockOut(BaseModel):
    """`parties`: task, station, agent and status of each as they were found; `handoffs`: what they handed over last;
    `escalation`: of a contradiction the one that resolves it."""

    id: UUID
    kind: str
    role: str
    parties: list[dict[str, Any]]
    handoffs: list[dict[str, Any]]
    suggestion: str
    escalation: UUID | None
    found: datetime
    state: str
    how: str
    answer: str
    by: str
    resolved: datetime | None


@router.get(LOCKS, response=list[DeadlockOut], summary="Deadlocks, the oldest first")
def deadlocks(request: Request, task: Task) -> list[DeadlockOut]:
    rows = Deadlock.objects.filter(tasks=task).select_related("resolved_by").order_by("found_at", "pk")
    return [_deadlock_out(row) for row in rows]


@router.post(LOCKS + "/{deadlock}/resolve", response=DeadlockOut, summary="Resolve it")
@action_required("decide")
def unlock(request: Request, task: Task, deadlock: UUID, payload: UnlockIn) -> DeadlockOut:
    """Once, by a person of its role or an administrator of the project, with a token that may decide. 409: it was
    resolved already."""
    person = require_person(request.auth)
    # Down the path, too: a deadlock of other tasks is none here
    if not Deadlock.objects.filter(tasks=task, pk=deadlock).exists():
        raise NotFound()
    engine.resolve_deadlock(
        deadlock, user=person, word=payload.word, reason=payload.reason, output=payload.output
    )
    return _deadlock_out(Deadlock.objects.select_related("resolved_by").get(pk=deadlock))


def _deadlock_out(row: Deadlock) -> DeadlockOut:
    return DeadlockOut(
        id=row.pk,
        kind=row.kind,
        role=row.role,
        parties=row.parties,
        handoffs=row.handoffs,
        suggestion=row.suggestion,
        escalation=row.escalation_id,
        found=row.found_at,
        state=row.state,
        how=row.how,
        answer=row.answer,
        by=str(row.resolved_by or ""),
        resolved=row.resolved_at,
    )


class DependIn(StrictBody):
    """Tasks of the project by name, such as WI-app-7."""

    depends_on: list[str]


@router.post(
    HERE.removesuffix("escalations") + "dependencies",
    response=DependIn,
    summary="Let a task wait for others",
)
@action_required("operate")
def add_dependencies(request: Request, task: Task, payload: DependIn) -> DependIn:
    """Starts after these tasks complete; work that has begun continues. Answers everything that the task waits for."""
    engine.wait_for_tasks(task.pk, payload.depends_on, actor=caller_actor(request.auth))
    rows = task.depends_on.select_related("on__project").order_by("on_id")
    return DependIn(depends_on=[row.on.name for row in rows])
