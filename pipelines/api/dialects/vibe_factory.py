"""The workflow endpoints of Vibe Factory (C16, C17, C21, C22, C26): execute, look, retry a station, cancel, complete a
station, resume."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from django.http import HttpResponse
from pydantic import BaseModel, Field

from pipelines import access, engine
from pipelines.api.auth import Caller, Request, caller_actor, requesters_of_machine_token, require_person
from pipelines.api.dialects.executions import (
    RUNNING,
    Execution,
    ExecutionOut,
    StationExecutionOut,
    is_task_failed,
)
from pipelines.api.everywhere import task_by_number
from pipelines.api.idempotency import IDEMPOTENCY_KEY, answer_once
from pipelines.api.lookup import CHANGES, Operations
from pipelines.errors import Conflict, Invalid, NotFound
from pipelines.models import ENDED, Job, Line, Status
from pipelines.queries import versions
from pipelines.queries.retention import refuse_purged
from pipelines.routing.basics import jsontext

router = Operations("Vibe Factory", CHANGES)
HERE = "/workflow-executions/{execution}"
BASE_BRANCH = "base_branch"
RETRIED = (Status.STUCK, Status.BLOCKED, Status.HELD)
Id = Annotated[str, Field(min_length=1, max_length=200)]


class ExecuteIn(BaseModel):
    """`task_id`: whatever the client calls its task; it is the title where there is no `title`. `base_branch`: the
    input of that key, where the line has one."""

    task_id: Annotated[str, Field(min_length=1, max_length=300, pattern=r"\S")]
    base_branch: str | None = None
    executor_profile_id: Any = None
    title: Annotated[str, Field(min_length=1, max_length=300, pattern=r"\S")] | None = None
    description: str = ""
    inputs: dict[str, Any] = {}


class ExecutedOut(BaseModel):
    workflow_execution_id: str
    task_attempt_id: str
    current_station_id: str | None
    status: str


class RetryStationIn(BaseModel):
    station_execution_id: Id


class CancelExecutionIn(BaseModel):
    reason: str | None = None


class CompleteStationIn(BaseModel):
    """`output_data`: a JSON value, or a text of one."""

    station_execution_id: Id
    status: Literal["completed", "failed"]
    output_data: Any = None


class ResumeIn(BaseModel):
    pass


@router.post("/workflows/{workflow}/execute", response=ExecutedOut, summary="Execute a workflow")
def execute(
    request: Request, workflow: str, payload: ExecuteIn, idempotency_key: str | None = IDEMPOTENCY_KEY
) -> HttpResponse:
    """`workflow`: `owner:project:line`, or the id that the imported document has. Starts a task on its live version."""
    line = _find_line(request.auth, workflow)
    access.require_permission(request.auth, "submit", line.project)
    return answer_once(request, idempotency_key, partial(_start_task, request.auth, line, payload))


def _start_task(who: Caller, line: Line, payload: ExecuteIn) -> ExecutedOut:
    if line.live is None:
        raise Conflict("This line has no published version yet; publish it first.")
    asks = {field.key for field in versions.parsed_version(line.live).inputs}
    # Its clients send a branch with every task, and a line that asks for none would refuse it
    branch_input = {BASE_BRANCH: payload.base_branch} if payload.base_branch and BASE_BRANCH in asks else {}
    task = engine.submit(
        line.live,
        actor=caller_actor(who),
        title=payload.title or payload.task_id,
        description=payload.description,
        inputs={**branch_input, **payload.inputs},
        requesters=requesters_of_machine_token(who),
    )
    out = Execution.of(task).to_out()
    return ExecutedOut(
        workflow_execution_id=out.id,
        task_attempt_id=out.task_attempt_id,
        current_station_id=out.current_station_id,
        status=out.status,
    )


@router.get(HERE, response=ExecutionOut, summary="Look at an execution")
def show(request: Request, execution: str, owner: str = "") -> ExecutionOut:
    """Return an execution; of one that was retried the latest task: its number is `task_attempt_id`."""
    return _get_execution(request.auth, execution, owner).to_out()


@router.get(
    "/tasks/{task}/workflow-execution",
    response=ExecutionOut,
    summary="The execution of a task",
)
def show_execution_of_task(request: Request, task: str, owner: str = "") -> ExecutionOut:
    return _get_execution(request.auth, task, owner).to_out()


@router.get(
    HERE + "/stations",
    response=list[StationExecutionOut],
    summary="Station executions, the oldest first",
)
def stations(request: Request, execution: str, owner: str = "") -> list[StationExecutionOut]:
    return _get_execution(request.auth, execution, owner).station_executions()


@router.post(HERE + "/retry-station", response=ExecutionOut, summary="Retry a failed station")
def retry_station(
    request: Request,
    execution: str,
    payload: RetryStationIn,
    owner: str = "",
    idempotency_key: str | None = IDEMPOTENCY_KEY,
) -> HttpResponse:
    """A new station execution; the failed one is kept. Where the execution has failed a linked task goes on with it,
    with the context of the completed stations, and this id leads to it. Gates on the way are asked again."""
    who = request.auth
    target = _get_execution(who, execution, owner, "operate")
    return answer_once(request, idempotency_key, partial(_retry_station, who, target, payload))


def _retry_station(who: Caller, execution: Execution, payload: RetryStationIn) -> ExecutionOut:
    job = _get_station_job(execution, payload.station_execution_id)
    status = execution.job_status(job)
    if status != "failed":
        raise Conflict(f"Can only retry failed stations, current status is '{status}'")
    # An execution shows the jobs of all its retries, and only the latest of them goes on
    if job.task_id != execution.task.pk:
        raise Conflict(f"This station was retried already, by {execution.task.name}.")
    if execution.task.status in ENDED:
        if not is_task_failed(execution.task):
            raise Conflict(f"The execution is {execution.status}; start another one.")
        engine.start_retry_task(execution.task.pk, station=job.station, actor=caller_actor(who))
    else:
        token = job.token
        # The position has moved on since the job failed: a retry would take it back
        if token.station != job.station or token.status not in RETRIED:
            raise Conflict("The execution went on from this station.")
        engine.move_or_retry_by_hand(token.pk, user=caller_actor(who), token_version=token.version)
    execution.task.refresh_from_db()
    # The chain anew: a retry of a task that has ended made another one
    return Execution(execution.asked, Execution.of(execution.chain[0]).chain).to_out()


@router.post(HERE + "/cancel", response=ExecutionOut, summary="Cancel an execution")
def cancel(request: Request, execution: str, payload: CancelExecutionIn, owner: str = "") -> ExecutionOut:
    """409: it is completed, failed or cancelled."""
    target = _get_execution(request.auth, execution, owner, "operate")
    engine.cancel(target.task.pk, actor=caller_actor(request.auth), reason=payload.reason or "")
    target.task.refresh_from_db()
    return target.to_out()


@router.post(HERE + "/complete-station", response=ExecutionOut, summary="Complete a station")
def complete_station(
    request: Request, execution: str, payload: CompleteStationIn, owner: str = ""
) -> ExecutionOut:
    """The report of a person on the station at which the execution is. 409: it is not there, the execution does not
    run, or a program does that station."""
    target = _get_execution(request.auth, execution, owner, "operate")
    user = require_person(request.auth)
    job = _get_station_job(target, payload.station_execution_id)
    if target.status != RUNNING:
        raise Conflict(f"The execution is {target.status}, not running.")
    if job.state == Job.State.DONE or job.task_id != target.task.pk:
        raise Conflict("This is not the current station of the execution.")
    if job.kind != "manual":
        raise Conflict("A program does the work of this station and reports it.")
    engine.complete_manual_job(
        job.pk, user=user, token_version=job.token.version, outcome=_completed_outcome(payload)
    )
    target.task.refresh_from_db()
    return target.to_out()


def _completed_outcome(payload: CompleteStationIn) -> dict[str, Any]:
    """Output that is no JSON is known as such, for whatever condition asks for it (C13)."""
    made: dict[str, Any] = {"result": "success" if payload.status == "completed" else "failure"}
    output = payload.output_data
    if isinstance(output, str) and output.strip():
        try:
            return {**made, "output": jsontext.loads(output)}
        except jsontext.JsonTextError as fault:
            return {**made, "output_error": fault.message}
    return made if output in (None, "") else {**made, "output": output}


@router.post(HERE + "/resume", response=ExecutionOut, summary="Resume an execution")
def resume(request: Request, execution: str, payload: ResumeIn, owner: str = "") -> ExecutionOut:
    """Releases what a person holds. Whatever else runs goes on by itself, after a restart, too. 409: it has ended."""
    target = _get_execution(request.auth, execution, owner, "operate")
    user = require_person(request.auth)
    if target.status != RUNNING:
        raise Conflict(f"Can only resume running executions, current status is '{target.status}'")
    # `by`: a person put it on hold; nothing else that holds a token has it.
    for token in target.task.tokens.filter(status=Status.HELD, forked=False, wait__has_key="by"):
        engine.release(token.pk, user=user, token_version=token.version)
    target.task.refresh_from_db()
    return target.to_out()


def _get_execution(who: Caller, execution_id: str, owner: str, action: str = "view") -> Execution:
    """Raises NotFound, Forbidden, Conflict."""
    task = task_by_number(who, execution_id, owner, action)
    refuse_purged(task)
    return Execution.of(task)


def _get_station_job(execution: Execution, job_id: str) -> Job:
    """Raises Invalid."""
    job = execution.find_job(job_id)
    if job is None:
        raise Invalid.at("station_execution_id", "is no station execution of this execution")
    return job


def _find_line(who: Caller, line_name: str) -> Line:
    """Raises NotFound, Conflict (several documents have this id)."""
    owner, colon, rest = line_name.partition(":")
    project, _colon, key = rest.partition(":")
    if colon:
        return access.line_of_visible_project_by_keys(who, owner, project, key)
    # Not all that are visible: who may not view a project is told nothing of its lines
    projects = [
        candidate
        for candidate in access.visible_projects_with_owner(who)
        if access.is_permitted(who, "view", candidate)
    ]
    lines = Line.objects.filter(project__in=projects, live__document__extra__id=line_name)
    # A second one is enough to know that the name is ambiguous.
    matches = list(lines.select_related("live", "project__owner")[:2])
    if not matches:
        raise NotFound
    if len(matches) > 1:
        raise Conflict("Several lines come from this workflow. Name one as owner:project:line.")
    return matches[0]
