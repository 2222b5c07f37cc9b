"""The jobs of a project that wait for a runner, and a token for one of them: what an engine needs that starts a runner
for each (docs/runners.md)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

from django.conf import settings
from django.utils import timezone
from ninja import Query
from pydantic import BaseModel, Field

from pipelines.api.auth import Request, require_person
from pipelines.api.lookup import CHANGES, PROJECT, Operations, action_required
from pipelines.api.schemas import StrictBody
from pipelines.errors import Conflict, NotFound
from pipelines.models import Job, Project
from pipelines.people import runners
from pipelines.queries import waiting_jobs

router = Operations("queue", CHANGES)
Label = Annotated[str, Field(min_length=1, max_length=64)]
JobNumber = Annotated[int, Field(ge=1, lt=2**63)]


class WaitingJobOut(BaseModel):
    """Job that waits. `image`: of its repository's environment, "" for none; `resources`: what its programs may use
    together, such as `memory_mb`."""

    job: int
    task: str
    line: str
    station: str
    kind: str
    attempt: int
    priority: str
    labels: list[str]
    image: str
    resources: dict[str, int]
    since: datetime


class WaitingJobsOut(BaseModel):
    """`total`: how many wait, 10,000 at most; `jobs`: the first of them, in the order in which runners get them."""

    total: int
    jobs: list[WaitingJobOut]


class RunnerTokenIn(StrictBody):
    """`minutes`: how long it lasts, counted from now: until the runner has reported."""

    minutes: Annotated[int, Field(ge=1, le=7 * 24 * 60)] = 60


class RunnerTokenOut(BaseModel):
    """`token`: shown this once. `server`: what the runner calls."""

    token: str
    server: str
    labels: list[str]
    expires_at: datetime


@router.get(PROJECT + "/queue", response=WaitingJobsOut, summary="List what waits for a runner")
def index(
    request: Request,
    project: Project,
    label: Annotated[list[Label], Query(max_length=100)] = [],  # noqa: B006  # as Ninja reads lists of a query
    limit: Annotated[int, Query(ge=0, le=200)] = 50,
) -> WaitingJobsOut:
    """`label`, repeated: only what a runner with these labels gets."""
    total, first = waiting_jobs.waiting_jobs(project, label or None, limit)
    return WaitingJobsOut(total=total, jobs=[WaitingJobOut(**vars(job)) for job in first])


@router.post(
    PROJECT + "/queue/{job}/token", response={201: RunnerTokenOut}, summary="Make a token for one job"
)
@action_required("execute")
def make_single_job_token(
    request: Request, project: Project, job: JobNumber, payload: RunnerTokenIn
) -> RunnerTokenOut:
    """Make the token of a runner that gets this job and no other: `gateline runner --once`."""
    waiting = Job.objects.select_related("task__project__owner").filter(pk=job, task__project=project).first()
    if waiting is None:
        raise NotFound
    if not waiting_jobs.is_for_runners(waiting):
        raise Conflict("This job does not wait for a runner any more. Nothing was changed.")
    labels = waiting_jobs.required_labels(waiting)
    lasts, by = timedelta(minutes=payload.minutes), require_person(request.auth)
    token, secret = runners.add_single_job_token_and_secret(waiting, labels, lasts, by, timezone.now())
    return RunnerTokenOut(
        token=secret, server=settings.BASE_URL, labels=list(labels), expires_at=token.expires_at
    )
