"""Tasks over HTTP: start one, look at it, its decisions, cancel it."""

from __future__ import annotations

from functools import partial

from django.db.models import Q, QuerySet
from django.http import HttpResponse

from pipelines import access, engine
from pipelines.api.auth import Caller, Request, caller_actor, requesters_of_machine_token
from pipelines.api.idempotency import IDEMPOTENCY_KEY, answer_once
from pipelines.api.lookup import (
    CHANGES,
    TASK,
    TASKS,
    Operations,
    action_required,
    answering_for_purged_tasks,
    costly_operation,
)
from pipelines.api.schemas import CancelIn, DecisionOut, RetryIn, TaskIn, TaskOut, task_out, tasks_out
from pipelines.errors import Conflict, InputError, Invalid, NotFound
from pipelines.models import ENDED, Line, Task, Token, tasks_with_display_status
from pipelines.models import Status as TaskStatus
from pipelines.queries import versions
from pipelines.queries.decision_trace import decision_trace
from pipelines.routing.document.line import Problem

router = Operations("tasks", CHANGES)
RETRIED = (TaskStatus.STUCK, TaskStatus.BLOCKED, TaskStatus.HELD)


@router.post(TASKS, response={201: TaskOut}, summary="Start a task")
@action_required("submit")
def start(
    request: Request,
    line: Line,
    payload: TaskIn,
    idempotency_key: str | None = IDEMPOTENCY_KEY,
) -> HttpResponse:
    """Starts a task on the live version of the line. Inputs are checked against its start form. `follows` names a task
    of the project that has ended and of which this one is new work. With an `Idempotency-Key` a request that is sent
    again starts no second task."""
    who = request.auth
    return answer_once(request, idempotency_key, partial(_start_task, who, line, payload), status=201)


def _start_task(who: Caller, line: Line, payload: TaskIn) -> TaskOut:
    if line.live is None:
        raise Conflict("This line has no published version yet; publish it first.")
    first = versions.parsed_version(line.live).start
    if payload.columnId not in (None, "", first):
        hint = f"Every task of this line starts at {first}."
        raise Invalid.at("columnId", "is not where a task can start", hint)
    owner, project = line.project.owner.key, line.project.key
    task = engine.submit(
        line.live,
        actor=caller_actor(who),
        title=payload.title,
        description=payload.description,
        priority=payload.priority,
        inputs=payload.inputs,
        labels=payload.labels,
        due_at=payload.due_at,
        depends_on=payload.depends_on,
        follows=_find_followed_task(who, owner, project, payload.follows),
        requesters=requesters_of_machine_token(who),
    )
    return task_out(task)


@router.get(TASKS, response=list[TaskOut], summary="List tasks, newest first")
def index(
    request: Request,
    line: Line,
    status: str = "",
    display_status: str = "",
    before: int = 0,
    limit: int = 50,
) -> list[TaskOut]:
    """List the tasks, at most 200 at a time; `before` is the number of the last one seen."""
    tasks: QuerySet[Task] = tasks_with_display_status(Task.objects.filter(line=line)).select_related(
        "project__owner", "line", "pinned", "follows"
    )
    tasks = tasks.prefetch_related("tokens", "gate_visits")
    if status:
        tasks = tasks.filter(status=status)
    if display_status:
        tasks = tasks.filter(Q(display_status=display_status))
    # Beyond a bigint PostgreSQL would refuse the number
    if 0 < before < 2**63:
        tasks = tasks.filter(number__lt=before)
    return tasks_out(list(tasks.order_by("-number")[: min(max(limit, 1), 200)]))


@router.get(TASK, response=TaskOut, summary="Look at a task", url_name="task")
@answering_for_purged_tasks
def show(request: Request, task: Task) -> TaskOut:
    return task_out(task)


@router.get(TASK + "/decisions", response=list[DecisionOut], summary="Why it is where it is")
@costly_operation
def list_decisions(request: Request, task: Task) -> list[DecisionOut]:
    """Every decision with all that it read and each rule that it tried, oldest first."""
    # What rules saw is asked of them again: of a hundred decisions that costs as much as a lint.
    return [
        DecisionOut(
            id=str(d.pk),
            at=d.at,
            station=d.station,
            cause=d.cause,
            version=d.pinned.number,
            situation=d.situation,
            decision=d.answer,
            trace=decision_trace(d),
            revision=d.revision,
            micros=d.micros,
        )
        for d in task.decisions.select_related("pinned").order_by("at")
    ]


@router.post(TASK + "/cancel", response=TaskOut, summary="Cancel a task")
@action_required("operate")
def cancel(request: Request, task: Task, payload: CancelIn) -> TaskOut:
    who = request.auth
    engine.cancel(task.pk, actor=caller_actor(who), reason=payload.reason)
    task.refresh_from_db()
    return task_out(task)


@router.post(TASK + "/retry", response=TaskOut, summary="Run a station again")
@action_required("operate")
def retry(
    request: Request,
    task: Task,
    payload: RetryIn,
    idempotency_key: str | None = IDEMPOTENCY_KEY,
) -> HttpResponse:
    """Runs the station of a task again that is stuck, blocked or held: a new job and a new run, what was before is
    kept. 409 where nothing waits so; no gate is ever passed.

    A task that has ended stays as it ended. A new task then starts at `station` (by default the one that was visited
    last), with the inputs and context of the old one but no approval: from the first station with the files of the
    base, from a later one with those that the old task left. The answer is the new task: its `id` is another, its
    `follows` the old one. With an `Idempotency-Key` a repeated request starts no second one."""
    who = request.auth
    return answer_once(request, idempotency_key, partial(_retry_task, who, task, payload))


def _retry_task(who: Caller, task: Task, payload: RetryIn) -> TaskOut:
    # What has ended is never moved again: another task goes on from where it ended
    if task.status in ENDED:
        return task_out(
            engine.start_retry_task(
                task.pk, station=payload.station, actor=caller_actor(who), reason=payload.reason
            )
        )
    token = _retryable_token_or_raise(task, payload)
    engine.move_or_retry_by_hand(
        token.pk, user=caller_actor(who), token_version=token.version, reason=payload.reason
    )
    task.refresh_from_db()
    return task_out(task)


@router.post(TASK + "/rerun-checks", response=TaskOut, summary="Run the host's checks again")
@action_required("operate")
def rerun_checks(request: Request, task: Task, payload: RetryIn) -> TaskOut:
    """Rerun checks of the host that failed or timed out while the task waits with that: a new visit of the
    station, which first asks the host to run again what failed. 409 where there are none, or somebody
    requested it already. The host's answer is the outcome of the visit."""
    who = request.auth
    token = _retryable_token_or_raise(task, payload)
    engine.rerun_checks(token.pk, user=caller_actor(who), token_version=token.version, reason=payload.reason)
    task.refresh_from_db()
    return task_out(task)


def _retryable_token_or_raise(task: Task, payload: RetryIn) -> Token:
    """The position that is meant. Raises Conflict, Invalid."""
    # The branches of a forked position stand in its place
    waiting = [token for token in task.tokens.filter(forked=False) if token.status in RETRIED]
    if payload.station:
        waiting = [token for token in waiting if token.station == payload.station]
    if not waiting:
        raise Conflict("Nothing is stuck, blocked or held there.")
    if len(waiting) > 1:
        places = ", ".join(token.station for token in waiting)
        raise Invalid.at(
            "station",
            "is needed: several positions wait",
            f"Name one of {places}.",
        )
    return waiting[0]


def _find_followed_task(who: access.Who, owner: str, project: str, name: str) -> Task | None:
    """Raises InputError, as for any other field."""
    try:
        return access.task_by_number_in_project(who, owner, project, name) if name else None
    except NotFound:
        raise InputError([Problem("follows", "is not a task of this project")]) from None
