"""Forking a task from a moment of it over HTTP (law §17)."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated

from django.http import HttpResponse
from pydantic import BaseModel, Field

from pipelines import engine
from pipelines.api.auth import Caller, Request, caller_actor, requesters_of_machine_token
from pipelines.api.idempotency import IDEMPOTENCY_KEY, answer_once
from pipelines.api.lookup import CHANGES, TASK, Operations, action_required
from pipelines.api.schemas import StrictBody, TaskOut, task_out
from pipelines.models import Task, User
from pipelines.work.transport.local.fork_files import fork_files

router = Operations("forks", CHANGES)
EventNumber = Annotated[int, Field(ge=1, lt=2**31)]
TokenId = Annotated[int, Field(ge=1, lt=2**63)]


class ForkIn(StrictBody):
    """Fork of a task. `at`: the number of the event behind which it begins, null for the last one; `position`: the
    token whose files it has, where the task had several; `station`: where it begins, "" for where that stood.
    `accepts`: ids of what the plan says that it breaks."""

    at: EventNumber | None = None
    position: TokenId | None = None
    station: Annotated[str, Field(max_length=64)] = ""
    reason: Annotated[str, Field(max_length=10_000)] = ""
    accepts: list[str] = []


class ForkPlaceOut(BaseModel):
    position: int
    station: str


class ForkPlanOut(BaseModel):
    """Plan of a fork. `at` and `moment`: number and time of the event; `position`: whose files it has; `station`: where
    it begins, and its `status` then; `positions`: those that may be named; `alone`: others that belong to a join
    behind it count as failed; `commit` and `tree`: of its branch, "" where nothing was committed by then; `files`: how
    many its workspace holds without a repository; `asks`: where the rules of the station lead; `cap`: dollars of its
    first run at most; `breaks`: what `accepts` has to name; `why`: what each of them promises."""

    at: int
    moment: datetime
    position: int
    station: str
    status: str
    positions: list[ForkPlaceOut]
    alone: bool
    commit: str
    tree: str
    files: int
    asks: list[str]
    cap: float | None
    breaks: list[str]
    why: list[str]


@router.post(TASK + "/fork", response=TaskOut, summary="Fork a task")
@action_required("operate")
def fork(
    request: Request,
    task: Task,
    payload: ForkIn,
    idempotency_key: str | None = IDEMPOTENCY_KEY,
) -> HttpResponse:
    """Starts a linked task from a moment of this one, with the files and the context of then: also while it runs,
    behind a fork and after its end. No approval and no count is inherited, whoever forks is its requester, and this
    task goes on as it was. The answer is the new task, whose `follows` is this one. With an `Idempotency-Key` a
    repeated request starts no second one."""
    return answer_once(request, idempotency_key, partial(_fork, request.auth, task, payload))


def _fork(who: Caller, task: Task, payload: ForkIn) -> TaskOut:
    person = who if isinstance(who, User) else who.user
    return task_out(
        engine.fork(
            task.pk,
            user=person or caller_actor(who),
            at=payload.at,
            position=payload.position,
            station=payload.station,
            reason=payload.reason,
            accepts=payload.accepts,
            requesters=requesters_of_machine_token(who),
        )
    )


@router.post(TASK + "/fork/plan", response=ForkPlanOut, summary="Plan a fork")
@action_required("operate")
def plan_fork(request: Request, task: Task, payload: ForkIn) -> ForkPlanOut:
    """Return what the same call of `fork` would do. Nothing is changed."""
    plan = engine.plan_fork(
        task.pk,
        user=caller_actor(request.auth),
        at=payload.at,
        position=payload.position,
        station=payload.station,
    )
    files = fork_files(task, plan)
    return ForkPlanOut(
        at=plan.moment.number,
        moment=plan.moment.at,
        position=plan.position.token,
        station=plan.station,
        status=plan.status,
        positions=[
            ForkPlaceOut(position=place.token, station=place.station) for place in plan.moment.positions
        ],
        alone=plan.alone,
        commit=files.commit,
        tree=files.tree,
        files=files.files,
        asks=list(plan.asks),
        cap=plan.cap,
        breaks=list(plan.breaks),
        why=list(plan.sentences),
    )
