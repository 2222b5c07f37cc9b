# ruff: noqa: N815 - the names are ALP's
"""Bodies that runners of ALP send and get. Keys that are unknown here are ignored: operators send more than
is documented."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StrictInt

from pipelines.models import Job
from pipelines.queries import versions
from pipelines.queries.environments import task_repository_or_none
from pipelines.work.runners.alp_runners import Dispatched

Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"\w")]
Word = Annotated[str, Field(min_length=1, max_length=64)]
Text = Annotated[str, Field(max_length=20_000)]
Logs = Annotated[str, Field(max_length=900_000)]
ExitCode = Annotated[StrictInt, Field(ge=-(2**31), lt=2**31)]
IDLE_MINUTES, MAX_MINUTES = 2, 60
"""ALP's own, where a station says nothing."""
OWN = ("initBranch", "autoGit", "commitMessageTemplate", "devcontainerFiles")


class AlpRegisterIn(BaseModel):
    name: Name
    labels: Annotated[list[Word], Field(max_length=100)] = []


class AlpRegisteredOut(BaseModel):
    """`token`: what the runner sends from now on; the one it came with, if that was a runner's."""

    id: str
    token: str
    registeredAt: str


class AgentDefinition(BaseModel):
    """`stageId`: the station. `assemblyLineRepo…`: Gateline keeps no such repository."""

    labels: list[str]
    taskId: str
    stageId: str
    prompt: str
    appendSystemPrompt: str
    repository: str | None
    branch: str | None
    initBranch: bool
    autoGit: bool
    commitMessageTemplate: str | None
    devcontainerFiles: Any
    assemblyLineRepoUrl: str | None
    assemblyLineRepoToken: str | None
    idleTimeoutMinutes: int
    maxTimeoutMinutes: int


class AlpJobOut(BaseModel):
    id: str
    runId: str
    agentDefinition: AgentDefinition


class AlpJobsOut(BaseModel):
    jobs: list[AlpJobOut]


class AlpResultIn(BaseModel):
    """`in_progress` is the heartbeat. `jobId`: which one; without it the job that the runner has, or had last."""

    jobResult: Literal["success", "failed", "in_progress"]
    exitCode: ExitCode | None = None
    error: Text | None = None
    summary: Text | None = None
    jobId: str | int | None = None


class AlpRunIn(BaseModel):
    """The live server's own. `conclusion` is needed when the job is completed."""

    status: Literal["completed", "in_progress"]
    conclusion: Literal["success", "failure"] | None = None
    completionReason: str | None = None
    exitCode: ExitCode | None = None
    summary: Text | None = None
    sessionId: Annotated[str, Field(max_length=200)] | None = None
    logs: Logs | None = None


class AlpStateOut(BaseModel):
    """`taskStatus`: how the task stands now, in Gateline's words."""

    id: str
    jobId: str
    runId: str
    jobResult: str
    taskId: str
    taskStatus: str


class ApprovalIn(BaseModel):
    """Request for an approval. Its question is the first of these fields that is there."""

    question: Text | None = None
    message: Text | None = None
    title: Text | None = None
    description: Text | None = None
    reason: Text | None = None
    action: Text | None = None
    jobId: str | int | None = None

    @property
    def question_text(self) -> str:
        parts = (self.title, self.question, self.message, self.description, self.reason, self.action)
        return "\n\n".join(dict.fromkeys(part.strip() for part in parts if part and part.strip()))


class ApprovalOut(BaseModel):
    """The run ends with this question; its station runs again with the answer in the prompt."""

    id: str
    status: Literal["pending"] = "pending"
    jobId: str
    taskId: str


class ApprovalStateOut(BaseModel):
    """`closed`: the task ended, or somebody let it go on without an answer."""

    id: str
    status: Literal["pending", "answered", "closed"]
    question: str
    answer: str | None
    answeredAt: datetime | None
    jobId: str
    taskId: str


class AlpArtifactOut(BaseModel):
    id: str
    name: str
    size: int
    digest: str
    jobId: str
    createdAt: datetime


def alp_job_body(dispatched: Dispatched) -> AlpJobOut:
    job, station = dispatched.job, dispatched.orders.station
    line = versions.parsed_line_by_version_id(job.pinned_id)
    its = line.station(job.station)
    own = _trigger_fields_without_equivalent(its.extra)
    branch = f"task-{job.task.name}" if own.get("initBranch") is True else None
    repository = task_repository_or_none(job.task, line) if line.workspace is not None else None
    return AlpJobOut(
        id=str(job.pk),
        runId=alp_run_id(job),
        agentDefinition=AgentDefinition(
            labels=list(its.labels),
            taskId=job.task.name,
            stageId=job.station,
            # As ALP renders it: the newline at the end is for programs that read it as a file.
            prompt=dispatched.prompt.removesuffix("\n"),
            appendSystemPrompt=dispatched.system,
            repository=repository.title if repository else None,
            branch=branch or (repository.default_branch if repository else None),
            initBranch=branch is not None,
            autoGit=own.get("autoGit") is True,
            commitMessageTemplate=_text_or_none(own.get("commitMessageTemplate")),
            devcontainerFiles=own.get("devcontainerFiles"),
            assemblyLineRepoUrl=None,
            assemblyLineRepoToken=None,
            idleTimeoutMinutes=_rounded_minutes(station.idle_timeout, IDLE_MINUTES),
            maxTimeoutMinutes=_rounded_minutes(station.max_timeout, MAX_MINUTES),
        ),
    )


def alp_run_id(job: Job) -> str:
    return job.task.name


def _trigger_fields_without_equivalent(extra: Any) -> dict[str, Any]:
    """Return the parts of the station's trigger that the line has no word for."""
    trigger = extra.get("trigger") if isinstance(extra, dict) else None
    return {key: trigger[key] for key in OWN if key in trigger} if isinstance(trigger, dict) else {}


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _rounded_minutes(seconds: float | None, default: int) -> int:
    """Whole ones, and never fewer."""
    return default if seconds is None else max(1, -(-int(seconds) // 60))
