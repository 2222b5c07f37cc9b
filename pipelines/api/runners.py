"""Calls of a runner on another machine to the server: claim, renew, log, ask, report
(docs/runners.md).

Each call names the runner; one about a job carries its lease in `Gateline-Lease`. 409: the lease is not in
force, and nothing was changed. 422: the stored data is refused.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from django.http import HttpResponse
from ninja.errors import AuthenticationError
from pydantic import BaseModel, Field, StrictBool, StrictInt

from pipelines.api import runner_bodies as bodies
from pipelines.api import runner_calls
from pipelines.api.auth import ReportBearer, RunnerBearer, forget_token
from pipelines.api.lookup import Operations
from pipelines.api.runner_reports import TokenInvalid
from pipelines.api.runner_requests import (
    ERRORS,
    JOB,
    LEASE,
    RUNNER,
    ReportRequest,
    RunnerRequest,
    get_leased_job,
    get_runner,
    translates_errors,
)
from pipelines.engine.commands.report import LARGEST_BATCH
from pipelines.models import ApiToken, Worker
from pipelines.ports import leases
from pipelines.work.runners import agent_questions, logs, presence, runner_claims
from pipelines.work.runners.presence import runner_offer
from pipelines.work.spec.agent_call import PermissionRequest
from pipelines.work.transport.http import wire_format
from pipelines.work.transport.local import permission_requests
from pipelines.work.transport.local.claimable import claimable_jobs

router = Operations("runners", ERRORS, auth=RunnerBearer())
Word = Annotated[str, Field(max_length=200)]
JobId = Annotated[StrictInt, Field(gt=0, lt=bodies.MOST_JOB)]
Words = Annotated[list[Word], Field(max_length=500)]


class RegisterIn(BaseModel):
    """Registration of a runner: what it is, and what it offers. `labels`: those of its token's labels that it
    requests; none: all."""

    protocol: StrictInt
    name: Annotated[str, Field(min_length=1, max_length=200)]
    host: Word
    pid: Annotated[StrictInt, Field(ge=0, lt=2**31)]
    labels: Words = []
    offers: Words = []
    answers: Words = []
    isolation: Annotated[str, Field(min_length=1, max_length=40)]
    cuts_network: StrictBool = False
    limits_hosts: StrictBool = False
    concurrency: Annotated[StrictInt, Field(ge=1, le=1000)] = 1
    machine: Annotated[dict[str, Word], Field(max_length=20)] = {}


class RegisteredOut(BaseModel):
    """`seconds`: how long a lease lasts that is not renewed."""

    project: str
    labels: list[str]
    seconds: float
    draining: bool


class AgentIn(BaseModel):
    path: Annotated[str, Field(max_length=1000)] = ""
    version: Word = ""
    seconds: Annotated[float, Field(ge=0, lt=1e6)] = 0.0


class RunnerStateIn(BaseModel):
    """`programs`: {name: what it says of its version}, or names alone. `registries`: {name: hosts of its packages}."""

    stopping: StrictBool | None = None
    no_space: StrictBool | None = None
    agents: Annotated[dict[Word, AgentIn], Field(max_length=100)] | None = None
    programs: Annotated[dict[Word, Word], Field(max_length=500)] | Words | None = None
    registries: Annotated[dict[Word, Words], Field(max_length=500)] | None = None


class WaitingIn(BaseModel):
    """`room`: of each queue how many jobs it could take now."""

    room: Annotated[dict[Word, Annotated[StrictInt, Field(ge=0, le=1000)]], Field(max_length=10)]


class WaitingJob(BaseModel):
    job: int
    queue: str


class WaitingOut(BaseModel):
    jobs: list[WaitingJob]


class StartedOut(BaseModel):
    """The orders of the job, its lease, and the secrets and variables that its station names; null: somebody else has
    it."""

    started: dict[str, Any] | None


class ClaimsIn(BaseModel):
    jobs: Annotated[list[JobId], Field(max_length=LARGEST_BATCH)]


class AllStartedOut(BaseModel):
    """Answers for several claims: for each job, in its place, as one claim answers it."""

    started: list[dict[str, Any] | None]


class LeasesIn(BaseModel):
    abandoned: Annotated[list[JobId], Field(max_length=10_000)] = []


class LeasesOut(BaseModel):
    """`held` {job: lease}: what is not in it is lost."""

    held: dict[str, str]
    draining: bool


class GiveBackIn(BaseModel):
    attempt: Annotated[StrictInt, Field(gt=0, lt=2**31)] | None = None


class LogIn(BaseModel):
    """Whole lines, each of seconds, a tab and text. `again`: its answer may have got lost."""

    text: str
    again: StrictBool = False


class AgentQuestionIn(BaseModel):
    """Question of an agent at work. `outcome`: with which it would end, of `what_if` and `gate_checks`."""

    question: Literal["get_task", "what_if", "gate_checks"]
    outcome: dict[str, Any] | None = None


class PermissionIn(BaseModel):
    """Call of a tool that an agent at work asks about. `key`: a new one for each call; `digest`: SHA-256 of the tool
    with its exact arguments."""

    key: uuid.UUID
    tool: Annotated[str, Field(min_length=1, max_length=200)]
    arguments: dict[str, Any]
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$", examples=["0" * 64])]


class PermissionAnswerOut(BaseModel):
    """`state`: open, allowed or denied."""

    state: str
    reason: str


# The runner itself


@router.post(RUNNER, response=RegisteredOut, url_name="runner-register")
def register(request: RunnerRequest, runner: uuid.UUID, payload: RegisterIn) -> RegisteredOut:
    """It is here. What an earlier process of it held is taken back."""
    worker = presence.register_runner(request.auth, runner, payload.model_dump())
    project = request.auth.project
    assert project is not None
    return RegisteredOut(
        project=f"{project.owner.key}/{project.key}",
        labels=worker.labels,
        seconds=runner_offer(worker).seconds,
        draining=worker.stopping,
    )


@router.post(RUNNER + "/tell", response={204: None}, url_name="runner-tell")
def report_runner_state(request: RunnerRequest, runner: uuid.UUID, payload: RunnerStateIn) -> None:
    """Report that the runner stops, that its disk is full, which agents and tools it has."""
    worker, fields = get_runner(request, runner), payload.model_dump(exclude_none=True)
    if fields:
        presence.update_runner(worker, fields, request.auth)


@router.post(RUNNER + "/sign-off", response={204: None}, url_name="runner-sign-off")
def sign_runner_off(request: RunnerRequest, runner: uuid.UUID) -> None:
    """It stops as planned: what it still holds goes back."""
    presence.sign_off(get_runner(request, runner))


@router.post(RUNNER + "/leases", response=LeasesOut, url_name="runner-leases")
def renew(request: RunnerRequest, runner: uuid.UUID, payload: LeasesIn) -> LeasesOut:
    """Renew all leases of the runner and return those that it still holds."""
    worker = get_runner(request, runner)
    renewed = leases.renew_leases_by_job(worker.pk, runner_offer(worker).seconds, payload.abandoned)
    return LeasesOut(held={str(job): str(key) for job, key in renewed.items()}, draining=worker.stopping)


# Claim


@router.post(RUNNER + "/waiting", response=WaitingOut, url_name="runner-waiting")
def list_jobs_for_runner(request: RunnerRequest, runner: uuid.UUID, payload: WaitingIn) -> WaitingOut:
    """List the waiting jobs that the runner may have: by priority, then by age. Empty where it is drained."""
    worker = get_runner(request, runner)
    offer, only_job_id = runner_offer(worker), request.auth.only_job_id
    jobs = {} if worker.stopping else claimable_jobs(offer, payload.room, only_job_id)
    return WaitingOut(jobs=[WaitingJob(job=job, queue=queue) for job, queue in jobs.items()])


@router.post(JOB + "/claim", response=StartedOut, url_name="runner-claim")
def claim(request: RunnerRequest, runner: uuid.UUID, job: int) -> StartedOut:
    (started,) = _start_jobs(request, get_runner(request, runner), [bodies.checked_job_id(job)])
    return StartedOut(started=started)


@router.post(RUNNER + "/claims", response=AllStartedOut, url_name="runner-claims")
def claim_together(request: RunnerRequest, runner: uuid.UUID, payload: ClaimsIn) -> AllStartedOut:
    """Several, in one transaction."""
    return AllStartedOut(started=_start_jobs(request, get_runner(request, runner), payload.jobs))


def _allowed_jobs(token: ApiToken, jobs: Iterable[int]) -> list[int]:
    """Return those of the jobs, in their order, that a runner with this token may have at all."""
    return [job for job in jobs if token.only_job_id in (None, job)]


def _start_jobs(request: RunnerRequest, runner: Worker, jobs: list[int]) -> list[dict[str, Any] | None]:
    # A job that is named twice is started once, and the answer has it in both places
    allowed = dict.fromkeys(_allowed_jobs(request.auth, jobs))
    started = {} if runner.stopping else runner_claims.start_jobs(allowed, runner_offer(runner))
    return [wire_format.started_json(started[job]) if job in started else None for job in jobs]


@router.post(JOB + "/give-back", response={204: None}, url_name="runner-give-back")
@translates_errors
def give_back(
    request: RunnerRequest, runner: uuid.UUID, job: int, payload: GiveBackIn, lease: uuid.UUID = LEASE
) -> None:
    """Queue it again; no attempt is counted."""
    get_leased_job(request, runner, job, lease)
    presence.requeue_job(job, lease, payload.attempt)


@router.post(JOB + "/log", response={204: None}, url_name="runner-log")
@translates_errors
def append_to_job_log(
    request: RunnerRequest, runner: uuid.UUID, job: int, payload: LogIn, lease: uuid.UUID = LEASE
) -> None:
    logs.append_to_log(get_leased_job(request, runner, job, lease), payload.text, again=payload.again)


# Ask


@router.post(JOB + "/ask", response=dict[str, Any], url_name="runner-ask")
@translates_errors
def answer_agent_question(
    request: RunnerRequest, runner: uuid.UUID, job: int, payload: AgentQuestionIn, lease: uuid.UUID = LEASE
) -> dict[str, Any]:
    """Answer what the agent of this job asks about its own task. Nothing is changed, and no other task can be named."""
    worker = get_runner(request, runner)
    runner_claims.job_under_lease(worker, bodies.checked_job_id(job), lease)
    return agent_questions.answer_question(worker, job, lease, payload.question, payload.outcome)


@router.post(JOB + "/permission", response=PermissionAnswerOut, url_name="runner-permission")
@translates_errors
def request_tool_permission(
    request: RunnerRequest, runner: uuid.UUID, job: int, payload: PermissionIn, lease: uuid.UUID = LEASE
) -> PermissionAnswerOut:
    """Ask people whether the agent of this job may call a tool; asked again with the same key: their answer."""
    get_leased_job(request, runner, job, lease)
    tool_request = PermissionRequest(payload.key, payload.tool, payload.arguments, payload.digest)
    answer = permission_requests.answer_permission_request(job, lease, tool_request)
    return PermissionAnswerOut(state=answer.state, reason=answer.reason)


# Report


@router.post(JOB + "/report", url_name="runner-report", response=dict[str, Any], auth=ReportBearer())
@translates_errors
def report(request: ReportRequest, runner: uuid.UUID, job: int, lease: uuid.UUID = LEASE) -> HttpResponse:
    """`{attempt, outcome, go_on}`. Most calls are answered before they come here, together with others
    (`config/request_handler.py`); this is what they fall back on. The outcome's facts are found here, of what was
    stored; the next job of the same task may come along. A late one moves nothing and is kept as evidence (law §5
    step 1)."""
    return _answer_report(request, runner, (bodies.checked_job_id(job), lease))


@router.post(RUNNER + "/reports", url_name="runner-reports", response=dict[str, Any], auth=ReportBearer())
@translates_errors
def report_together(request: ReportRequest, runner: uuid.UUID) -> HttpResponse:
    """`{"reports": [{job, lease, attempt, outcome, go_on}]}`, up to 50: each as by itself, in one transaction.
    `{"answers": […]}` in their order. `not_found`: no job of this runner's. `error`: nothing of it moved, and it may
    come again."""
    return _answer_report(request, runner)


def _answer_report(
    request: ReportRequest, runner: uuid.UUID, job_and_lease: tuple[int, uuid.UUID] | None = None
) -> HttpResponse:
    secret = request.auth.secret
    (answer,) = runner_calls.http_answers_of_calls(
        [runner_calls.read_call(request, secret, request.auth.project, runner, job_and_lease)]
    )
    if isinstance(answer, TokenInvalid):
        forget_token(secret)
        # Once more by itself, since that counts wrong tokens and refuses many of them with 429.
        RunnerBearer().authenticate(request, secret)
        raise AuthenticationError from answer
    if isinstance(answer, Exception):
        raise answer
    return answer.response
