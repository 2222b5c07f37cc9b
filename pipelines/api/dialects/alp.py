"""The runner protocol of ALP: register, poll, heartbeat and result, artifacts, approval requests; and the addresses of
its live server. Tasks and gates have ALP's addresses anyway (`api.tasks`, `reviews.api`)."""

from __future__ import annotations

import re
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import File, Form, Status
from ninja.files import UploadedFile

from pipelines import access
from pipelines.api.auth import AnyBearer, RunnerBearer, Session, require_person
from pipelines.api.dialects.alp_bodies import (
    AlpArtifactOut,
    AlpJobsOut,
    AlpRegisteredOut,
    AlpRegisterIn,
    AlpResultIn,
    AlpRunIn,
    AlpStateOut,
    ApprovalIn,
    ApprovalOut,
    ApprovalStateOut,
    alp_job_body,
    alp_run_id,
)
from pipelines.api.lookup import PROJECT, Operations
from pipelines.api.runner_requests import RunnerRequest, translating_errors
from pipelines.errors import Conflict, Invalid, NotFound
from pipelines.models import ApiToken, Job, User, Worker
from pipelines.people import accounts
from pipelines.work.runners import alp_runners, approvals, logs

router = Operations("ALP runners", (400, 401, 403, 404, 409, 503), auth=RunnerBearer())
RUNNERS = PROJECT + "/runners"
RUNNER = RUNNERS + "/{runner}"
RUN = PROJECT + "/runs/{run}/jobs/{job}"
# ALP's completionReason, and the reason of law §2
TIMEOUTS = {"idle_timeout": "idle_timeout", "timeout": "max_timeout"}
# The id of a job: any 18 digits fit a bigint.
NUMBER = re.compile(r"[1-9][0-9]{0,17}")
UNFIT = re.compile(r"[\x00\r]")


@router.post(
    RUNNERS + "/register",
    auth=[AnyBearer(), Session()],
    response=AlpRegisteredOut,
    summary="Register a runner of ALP",
    url_name="alp-register",
)
def register(request: HttpRequest, owner: str, project: str, payload: AlpRegisterIn) -> AlpRegisteredOut:
    """Register a runner. With the token of a runner: the runner of that token. With a person's, who may
    publish stations that run programs: a new token, with these labels, that appears only this once."""
    who: ApiToken | User = request.auth  # type: ignore[attr-defined]
    # A runner registers at each start, and must not leave one more token behind each time
    if isinstance(who, ApiToken) and who.kind == ApiToken.TokenKind.RUNNER:
        _require_own_project(who, owner, project)
        # Only a digest of a token is stored: the secret is what was sent.
        token, secret = who, request.headers["Authorization"].partition(" ")[2].strip()
    else:
        project_row = access.visible_project_by_keys(who, owner, project)
        access.require_permission(who, "execute", project_row)
        token, secret = accounts.mint_token_and_secret(
            kind=ApiToken.TokenKind.RUNNER,
            name=payload.name,
            scopes=(),
            labels=payload.labels,
            now=timezone.now(),
            created_by=require_person(who),
            project=project_row,
        )
    runner = alp_runners.register_alp_runner(
        token, payload.name, request.META.get("REMOTE_ADDR", ""), payload.labels
    )
    return AlpRegisteredOut(id=str(runner.pk), token=secret, registeredAt=runner.started_at.isoformat())


@router.post(
    RUNNERS + "/jobs",
    response={200: AlpJobsOut, 204: None},
    summary="Ask for work",
    url_name="alp-jobs",
)
def poll(request: RunnerRequest, owner: str, project: str) -> Status[AlpJobsOut | None]:
    """Return at most one job, the most urgent whose labels the runner has all: it is claimed with the answer.
    204: nothing waits, or the runner has one already. A runner that is silent for two minutes loses it to
    another."""
    dispatched = alp_runners.lease_most_urgent_job_or_none(get_token_runner(request, owner, project))
    return (
        Status(204, None) if dispatched is None else Status(200, AlpJobsOut(jobs=[alp_job_body(dispatched)]))
    )


@router.patch(
    RUNNER,
    response=AlpStateOut,
    summary="Heartbeat, or the result of the job",
    url_name="alp-result",
)
def report_result(
    request: RunnerRequest, owner: str, project: str, runner: str, payload: AlpResultIn
) -> AlpStateOut:
    """The result again is answered as the first time; another one of the same job is 409, and so is whatever comes
    after the job was cancelled or given to another runner."""
    its = get_token_runner(request, owner, project, runner)
    job = _current_or_named_job(its, payload.jobId)
    # A heartbeat: ALP has one call for this and for the result
    if payload.jobResult == "in_progress":
        _renew_lease_or_conflict(its, job)
    else:
        outcome = _reported_outcome(
            payload.jobResult == "success", payload.exitCode, payload.summary or payload.error
        )
        _deliver_outcome(its, job, outcome)
    return _mark_present_and_state_out(its, job, payload.jobResult)


@router.patch(
    RUN,
    response=AlpStateOut,
    summary="The same, as ALP's live server has it",
    url_name="alp-run-job",
)
def report_run(
    request: RunnerRequest, owner: str, project: str, run: str, job: str, payload: AlpRunIn
) -> AlpStateOut:
    """A job that timed out is cancelled, whatever its conclusion. `logs` are added to the log of the job."""
    its = get_token_runner(request, owner, project)
    job_row = _current_or_named_job(its, job)
    # The run names the task of the job once more: a report under another one is a mistake of the runner
    if alp_run_id(job_row) != run:
        raise NotFound
    if payload.status == "completed" and payload.conclusion is None:
        raise Invalid.at("conclusion", "is needed when the job is completed")
    # Before the result, after which the runner has the job no more
    if payload.logs and alp_runners.has_lease(its, job_row):
        _append_log(job_row, payload.logs)
    if payload.status == "in_progress":
        _renew_lease_or_conflict(its, job_row)
        return _mark_present_and_state_out(its, job_row, payload.status)
    timed_out = TIMEOUTS.get(payload.completionReason or "")
    outcome = _reported_outcome(payload.conclusion == "success", payload.exitCode, payload.summary)
    if timed_out:
        # law §12: time-outs are cancelled, with their reason.
        outcome |= {"result": "cancelled", "reason": timed_out}
    if payload.sessionId:
        outcome["comment"] = f"Session {payload.sessionId}"
    _deliver_outcome(its, job_row, outcome)
    return _mark_present_and_state_out(its, job_row, str(payload.conclusion))


@router.post(
    RUNNER + "/approval-requests",
    response={202: ApprovalOut},
    summary="Ask a person before going on",
    url_name="alp-approval",
)
def request_approval(
    request: RunnerRequest, owner: str, project: str, runner: str, payload: ApprovalIn
) -> ApprovalOut:
    """The job ends here: its task waits with the question, and its station runs again with what a person answers."""
    its = get_token_runner(request, owner, project, runner)
    if not payload.question_text:
        raise Invalid.at("question", "is missing", "Say what a person is to decide.")
    job = _current_or_named_job(its, payload.jobId)
    # law §5 step 3: such a signal blocks the token and shows the question; the answer reruns it.
    hold = {"verdict": "hold", "reason": "needs_human", "meta": {"question": payload.question_text}}
    _deliver_outcome(its, job, {"result": "blocked", "signals": [hold]})
    return ApprovalOut(id=approvals.question_number(job), jobId=str(job.pk), taskId=job.task.name)


@router.get(
    RUNNER + "/approval-requests/{asked}",
    response=ApprovalStateOut,
    summary="Whether it was answered, and how",
    url_name="alp-approval-state",
)
def show_approval_request(
    request: RunnerRequest, owner: str, project: str, runner: str, asked: str
) -> ApprovalStateOut:
    """`asked`: the id that the request was given. The answer also stands in the prompt of the next run."""
    approval = approvals.question_by_number(get_token_runner(request, owner, project, runner), asked)
    return ApprovalStateOut(
        id=asked,
        status=approval.status,
        question=approval.question,
        answer=approval.answer,
        answeredAt=approval.answered_at,
        jobId=str(approval.job.pk),
        taskId=approval.job.task.name,
    )


@router.post(
    PROJECT + "/artifacts",
    response={201: AlpArtifactOut},
    summary="Hand over a file of the job",
    url_name="alp-artifact",
)
def upload_artifact(
    request: RunnerRequest,
    owner: str,
    project: str,
    file: UploadedFile | None = File(None),  # noqa: B008
    name: str = Form(""),
    jobId: str = Form(""),  # noqa: N803
) -> AlpArtifactOut:
    """A form with the field `file`. It is kept with the job that the runner has, under its name."""
    its = get_token_runner(request, owner, project)
    if getattr(request, "too_large", ()):
        raise Invalid.at("file", "is larger than an upload may be")
    if file is None:
        raise Invalid.at("file", "is required", "Send it as the field file of a form.")
    job = _current_or_named_job(its, jobId or None)
    called = (name or file.name or "")[:300]
    with translating_errors():
        artifact = alp_runners.keep_artifact(its, job, called, (file.content_type or "")[:100], file)  # type: ignore[arg-type]
    return AlpArtifactOut(
        id=str(artifact.pk),
        name=artifact.name,
        size=artifact.blob.size,
        digest=artifact.blob_id,
        jobId=str(job.pk),
        createdAt=timezone.now(),
    )


def get_token_runner(request: RunnerRequest, owner: str, project: str, runner: str | None = None) -> Worker:
    """The runner of the token, in its own project. Raises NotFound."""
    _require_own_project(request.auth, owner, project)
    worker = alp_runners.registered_runner(request.auth)
    # 404 and not 403: a token learns nothing of other runners
    if runner is not None and runner != str(worker.pk):
        raise NotFound
    return worker


def _require_own_project(token: ApiToken, owner: str, project: str) -> None:
    its = token.project
    if its is None or (its.owner.key, its.key) != (owner, project):
        raise NotFound


def _current_or_named_job(runner: Worker, job_id: str | int | None) -> Job:
    """Raises NotFound, Conflict (it never had one)."""
    if job_id is not None:
        if not NUMBER.fullmatch(str(job_id)):
            raise NotFound
        return alp_runners.find_job(runner, int(job_id))
    job = alp_runners.current_or_last_job(runner)
    if job is None:
        raise Conflict("This runner has no job.")
    return job


def _reported_outcome(success: bool, exit_code: int | None, summary: str | None) -> dict[str, Any]:
    """Return the outcome as ALP's operator reports it (A12, A13): no verdict, no output, no facts."""
    return {
        "result": "success" if success else "failure",
        **({"exit_code": exit_code} if exit_code is not None else {}),
        **({"summary": summary} if summary and summary.strip() else {}),
    }


def _renew_lease_or_conflict(runner: Worker, job: Job) -> None:
    with translating_errors():
        alp_runners.renew_lease(runner, job)


def _deliver_outcome(runner: Worker, job: Job, outcome: dict[str, Any]) -> None:
    """Raises Conflict, Invalid."""
    with translating_errors():
        answer = alp_runners.deliver_report(runner, job, outcome)
    if answer.status in ("conflict", "ignored", "not_found"):
        raise Conflict(
            "This job is over, or another runner has it. Nothing was changed."
            if answer.status != "conflict"
            else "This job has ended with another result. Nothing was changed."
        )
    if answer.status == "invalid":
        raise Invalid.at(answer.path, answer.detail)


def _mark_present_and_state_out(runner: Worker, job: Job, job_result: str) -> AlpStateOut:
    alp_runners.mark_present(runner)
    job.task.refresh_from_db(fields=["status"])
    return AlpStateOut(
        id=str(runner.pk),
        jobId=str(job.pk),
        runId=alp_run_id(job),
        jobResult=job_result,
        taskId=job.task.name,
        taskStatus=job.task.status,
    )


def _append_log(job: Job, text: str) -> None:
    at = f"{alp_runners.seconds_since_start(job, timezone.now()):.3f}"
    rows = UNFIT.sub("", text).removesuffix("\n").split("\n")
    logs.append_to_log(job, "".join(f"{at}\t{row}\n" for row in rows), again=True)
