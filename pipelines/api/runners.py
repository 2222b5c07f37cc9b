"""Calls of a runner on another machine to the server: claim, renew, fetch, store, log, report
(docs/runners.md).

Each call names the runner; one about a job carries its lease in `Gateline-Lease`. 409: the lease is not in
force, and nothing was changed. 422: the stored data is refused.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Annotated, Any, Literal, TypeVar

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Header
from ninja.errors import AuthenticationError, HttpError
from pydantic import BaseModel, Field, StrictBool, StrictInt

from pipelines.api import runner_bodies as bodies
from pipelines.api import runner_calls
from pipelines.api.auth import PresentedToken, ReportBearer, RunnerBearer, forget_token
from pipelines.api.lookup import Operations
from pipelines.api.runner_reports import TokenInvalid
from pipelines.engine.commands.report import LARGEST_BATCH
from pipelines.errors import Conflict, Invalid
from pipelines.models import ApiToken, Job, Worker
from pipelines.ports import leases
from pipelines.web.shell.file_stream import StoredFileResponse
from pipelines.work.artifact_stores.store import digest_of_name_or_empty
from pipelines.work.runners import agent_questions, files, logs, presence, result_storage, runner_claims
from pipelines.work.runners.presence import runner_claim
from pipelines.work.spec.agent_call import PermissionRequest
from pipelines.work.storage import artifact_storage
from pipelines.work.transport.http import wire_format
from pipelines.work.transport.local import permission_requests, stored_results
from pipelines.work.transport.local.claimable import claimable_jobs
from pipelines.work.transport.protocol import LeaseLost, NotStored, QuestionRefused, ReportFailed

ERRORS = (400, 401, 404, 409, 422, 429, 503)
router = Operations("runners", ERRORS, auth=RunnerBearer())
RUNNER = "/runner/{runner}"
JOB = RUNNER + "/jobs/{job}"
LEASE = Header(..., alias=wire_format.LEASE)
F = TypeVar("F", bound=Callable[..., Any])
Word = Annotated[str, Field(max_length=200)]
JobId = Annotated[StrictInt, Field(gt=0, lt=bodies.MOST_JOB)]
Words = Annotated[list[Word], Field(max_length=500)]


class RunnerRequest(HttpRequest):
    """A request with the token of a runner."""

    auth: ApiToken


class ReportRequest(HttpRequest):
    auth: PresentedToken


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


class MissingFilesOut(BaseModel):
    """`direct`: large ones may go straight to the artifact store."""

    wanted: list[str]
    direct: bool = False


@contextmanager
def translating_errors() -> Iterator[None]:
    """Turn the errors of the rooms of work into problems."""
    try:
        yield
    except LeaseLost as error:
        raise Conflict("This runner does not have this job. Nothing was changed.") from error
    except (NotStored, QuestionRefused) as error:
        raise HttpError(422, str(error)) from error
    except agent_questions.TooManyQuestions as error:
        raise HttpError(429, str(error)) from error
    except ReportFailed as error:
        raise HttpError(503, str(error)) from error


def translates_errors(view: F) -> F:
    """Wrap a view so that errors of the rooms of work become problems."""

    @wraps(view)
    def wrapped(*arguments: Any, **more: Any) -> Any:
        with translating_errors():
            return view(*arguments, **more)

    return wrapped  # type: ignore[return-value]


def _get_runner(request: RunnerRequest, runner: uuid.UUID) -> Worker:
    return presence.registered_runner(request.auth, runner)


def get_leased_job(request: RunnerRequest, runner: uuid.UUID, job: int, lease: uuid.UUID) -> Job:
    return runner_claims.job_under_lease(_get_runner(request, runner), bodies.checked_job_id(job), lease)


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
        seconds=runner_claim(worker).seconds,
        draining=worker.stopping,
    )


@router.post(RUNNER + "/tell", response={204: None}, url_name="runner-tell")
def tell(request: RunnerRequest, runner: uuid.UUID, payload: RunnerStateIn) -> None:
    """Report that the runner stops, that its disk is full, which agents and tools it has."""
    worker, fields = _get_runner(request, runner), payload.model_dump(exclude_none=True)
    if fields:
        presence.update_runner(worker, fields, request.auth)


@router.post(RUNNER + "/sign-off", response={204: None}, url_name="runner-sign-off")
def sign_off(request: RunnerRequest, runner: uuid.UUID) -> None:
    """It stops as planned: what it still holds goes back."""
    presence.sign_off(_get_runner(request, runner))


@router.post(RUNNER + "/leases", response=LeasesOut, url_name="runner-leases")
def renew(request: RunnerRequest, runner: uuid.UUID, payload: LeasesIn) -> LeasesOut:
    """Renew all leases of the runner and return those that it still holds."""
    worker = _get_runner(request, runner)
    renewed = leases.renew_leases_by_job(worker.pk, runner_claim(worker).seconds, payload.abandoned)
    return LeasesOut(held={str(job): str(key) for job, key in renewed.items()}, draining=worker.stopping)


# Claim


@router.post(RUNNER + "/waiting", response=WaitingOut, url_name="runner-waiting")
def waiting(request: RunnerRequest, runner: uuid.UUID, payload: WaitingIn) -> WaitingOut:
    """List the waiting jobs that the runner may have: by priority, then by age. Empty where it is drained."""
    worker = _get_runner(request, runner)
    jobs = {} if worker.stopping else claimable_jobs(runner_claim(worker), payload.room)
    allowed = _allowed_jobs(request.auth, jobs)
    return WaitingOut(jobs=[WaitingJob(job=job, queue=jobs[job]) for job in allowed])


@router.post(JOB + "/claim", response=StartedOut, url_name="runner-claim")
def claim(request: RunnerRequest, runner: uuid.UUID, job: int) -> StartedOut:
    (started,) = _start_jobs(request, _get_runner(request, runner), [bodies.checked_job_id(job)])
    return StartedOut(started=started)


@router.post(RUNNER + "/claims", response=AllStartedOut, url_name="runner-claims")
def claim_together(request: RunnerRequest, runner: uuid.UUID, payload: ClaimsIn) -> AllStartedOut:
    """Several, in one transaction."""
    return AllStartedOut(started=_start_jobs(request, _get_runner(request, runner), payload.jobs))


def _allowed_jobs(token: ApiToken, jobs: Iterable[int]) -> list[int]:
    """Return those of the jobs, in their order, that a runner with this token may have at all."""
    return [job for job in jobs if token.only_job_id in (None, job)]


def _start_jobs(request: RunnerRequest, runner: Worker, jobs: list[int]) -> list[dict[str, Any] | None]:
    # A job that is named twice is started once, and the answer has it in both places
    allowed = dict.fromkeys(_allowed_jobs(request.auth, jobs))
    started = {} if runner.stopping else runner_claims.start_jobs(allowed, runner_claim(runner))
    return [wire_format.started_json(started[job]) if job in started else None for job in jobs]


@router.post(JOB + "/give-back", response={204: None}, url_name="runner-give-back")
@translates_errors
def give_back(
    request: RunnerRequest, runner: uuid.UUID, job: int, payload: GiveBackIn, lease: uuid.UUID = LEASE
) -> None:
    """Queue it again; no attempt is counted."""
    get_leased_job(request, runner, job, lease)
    presence.requeue_job(job, lease, payload.attempt)


# Fetch and store


@router.post(JOB + "/material", response=dict[str, Any], url_name="runner-material")
@translates_errors
def material(request: RunnerRequest, runner: uuid.UUID, job: int, lease: uuid.UUID = LEASE) -> dict[str, Any]:
    """Return what the attempt starts with; each file under a name that is valid as long as the lease."""
    job_row = get_leased_job(request, runner, job, lease)
    inputs = job_row.task.inputs
    what = stored_results.job_material(job_row.pk, job_row.task_id, job_row.task.project_id, inputs)
    return wire_format.material_json(what, files.file_namer(job, lease))


@router.post(JOB + "/before", response=dict[str, Any], url_name="runner-before")
@translates_errors
def before(request: RunnerRequest, runner: uuid.UUID, job: int, lease: uuid.UUID = LEASE) -> dict[str, Any]:
    """Return only the workspace of the material."""
    get_leased_job(request, runner, job, lease)
    return {
        "before": wire_format.starting_workspace_json_or_none(
            stored_results.last_snapshot_or_none(job), files.file_namer(job, lease)
        )
    }


@router.get(RUNNER + "/files/{name}", response={200: None, 307: None}, url_name="runner-file")
@translates_errors
def download_material_file(
    request: RunnerRequest,
    runner: uuid.UUID,
    name: str,
    direct: bool = Header(False, alias=wire_format.DIRECT),
) -> HttpResponseBase:
    """The bytes of a file that the material names; or, for who can follow, where the artifact store has them."""
    place = files.stored_place(name, _get_runner(request, runner).pk)
    store = artifact_storage()
    if direct and store.signs_addresses:
        headers = {
            "Location": store.download_address(place),
            wire_format.DIGEST: digest_of_name_or_empty(place),
        }
        return HttpResponse(status=307, headers=headers)
    return StoredFileResponse(files.open_stored_file(place), content_type="application/octet-stream")


@router.post(JOB + "/wanted", response=MissingFilesOut, url_name="runner-wanted")
@translates_errors
def wanted(request: RunnerRequest, runner: uuid.UUID, job: int, lease: uuid.UUID = LEASE) -> MissingFilesOut:
    """`{"files": {digest: size}}`: which of these it has to send."""
    job_row = get_leased_job(request, runner, job, lease)
    sizes = bodies.read_document(request).get("files")
    if not isinstance(sizes, dict) or not all(type(size) is int and size >= 0 for size in sizes.values()):
        raise Invalid.at("files", "is no object of digests and sizes")
    missing = files.missing_digests(job_row, lease, sizes)
    return MissingFilesOut(wanted=missing, direct=artifact_storage().signs_addresses)


@router.put(JOB + "/files/{digest}", response={204: None}, url_name="runner-upload")
@translates_errors
def upload(
    request: RunnerRequest, runner: uuid.UUID, job: int, digest: str, lease: uuid.UUID = LEASE
) -> None:
    """The bytes of one file, as they are, 8 MB at most; those of a larger one in parts, each by its own digest."""
    files.receive_and_check_file(get_leased_job(request, runner, job, lease), lease, digest, request)  # type: ignore[arg-type]


@router.post(JOB + "/files/{digest}/parts", response={204: None}, url_name="runner-parts")
@translates_errors
def join(request: RunnerRequest, runner: uuid.UUID, job: int, digest: str, lease: uuid.UUID = LEASE) -> None:
    """`{"parts": [digests]}`: the file that parts make which were sent, in this order."""
    job_row = get_leased_job(request, runner, job, lease)
    parts = bodies.read_document(request).get("parts")
    # 64: SHA-256 in hexadecimal
    if not isinstance(parts, list) or not all(isinstance(part, str) and len(part) == 64 for part in parts):
        raise Invalid.at("parts", "is no list of digests")
    files.join_parts(job_row, lease, digest, parts)


@router.post(JOB + "/store", response={204: None}, url_name="runner-store")
@translates_errors
def store(request: RunnerRequest, runner: uuid.UUID, job: int, lease: uuid.UUID = LEASE) -> None:
    """`{artifacts, workspace, git}`: what the attempt left, of files that were sent. Counted and checked here."""
    job_row = get_leased_job(request, runner, job, lease)
    result_storage.store_results(job_row, lease, bodies.read_document(request))


@router.post(JOB + "/log", response={204: None}, url_name="runner-log")
@translates_errors
def log(
    request: RunnerRequest, runner: uuid.UUID, job: int, payload: LogIn, lease: uuid.UUID = LEASE
) -> None:
    logs.append_to_log(get_leased_job(request, runner, job, lease), payload.text, again=payload.again)


# Ask


@router.post(JOB + "/ask", response=dict[str, Any], url_name="runner-ask")
@translates_errors
def ask(
    request: RunnerRequest, runner: uuid.UUID, job: int, payload: AgentQuestionIn, lease: uuid.UUID = LEASE
) -> dict[str, Any]:
    """Answer what the agent of this job asks about its own task. Nothing is changed, and no other task can be named."""
    worker = _get_runner(request, runner)
    runner_claims.job_under_lease(worker, bodies.checked_job_id(job), lease)
    return agent_questions.answer_question(worker, job, lease, payload.question, payload.outcome)


@router.post(JOB + "/permission", response=PermissionAnswerOut, url_name="runner-permission")
@translates_errors
def permission(
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
    request: ReportRequest, runner: uuid.UUID, fence: tuple[int, uuid.UUID] | None = None
) -> HttpResponse:
    secret = request.auth.secret
    (answer,) = runner_calls.http_answers_of_calls(
        [runner_calls.read_call(request, secret, request.auth.project, runner, fence)]
    )
    if isinstance(answer, TokenInvalid):
        forget_token(secret)
        # Once more by itself, since that counts wrong tokens and refuses many of them with 429.
        RunnerBearer().authenticate(request, secret)
        raise AuthenticationError from answer
    if isinstance(answer, Exception):
        raise answer
    return answer.response
