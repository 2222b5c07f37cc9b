"""Station visits of a task over HTTP: what each run of a station reported."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Case, F, JSONField, QuerySet, TextField, Value, When
from django.db.models.functions import Cast, Length
from pydantic import BaseModel

from pipelines.api.auth import Request
from pipelines.api.lookup import TASK, Operations
from pipelines.errors import NotFound
from pipelines.models import Job, Purpose, Task

router = Operations("tasks")
HERE = TASK + "/visits"
LARGE = 64 * 1024
"""Characters of an outcome above which a list leaves it out."""


class VisitOut(BaseModel):
    """Run of a station. `result`: as it was decided on. `outcome`: as it was reported, `output` apart.
    `omitted`: the outcome is large; look at this visit alone to read it."""

    id: int
    station: str
    visit: int
    state: str
    attempt: int
    kind: str
    agent: str | None
    result: str | None
    exit_code: int | None
    summary: str | None
    outcome: dict[str, Any] | None
    output: Any
    omitted: bool
    by: str | None
    entered: datetime
    started: datetime | None
    ended: datetime | None


@router.get(HERE, response=list[VisitOut], summary="Station visits, the oldest first")
def index(request: Request, task: Task, after: int = 0, limit: int = 50) -> list[VisitOut]:
    """List the visits, at most 200 at a time; `after` is the id of the last one seen."""
    rows = _station_jobs(task)
    # Beyond a bigint PostgreSQL would refuse the number
    if 0 < after < 2**63:
        rows = rows.filter(pk__gt=after)
    # Left out by the database, so that a large outcome is not even sent here.
    small = Case(When(size__lte=LARGE, then=F("outcome")), default=Value(None), output_field=JSONField())
    rows = rows.annotate(size=Length(Cast("outcome", TextField()))).annotate(shown=small).defer("outcome")
    return [
        _visit_out(job, job.shown, omitted=(job.size or 0) > LARGE) for job in rows[: min(max(limit, 1), 200)]
    ]


@router.get(HERE + "/{visit}", response=VisitOut, summary="One station visit, whole")
def show(request: Request, task: Task, visit: int) -> VisitOut:
    # Beyond a bigint PostgreSQL would refuse the number
    job = _station_jobs(task).filter(pk=visit).first() if 0 < visit < 2**63 else None
    if job is None:
        raise NotFound()
    return _visit_out(job, job.outcome, omitted=False)


def _station_jobs(task: Task) -> QuerySet[Job, Any]:
    return Job.objects.filter(task=task, purpose=Purpose.STATION).order_by("pk")


def _visit_out(job: Job, outcome: dict[str, Any] | None, *, omitted: bool) -> VisitOut:
    rest = {key: value for key, value in outcome.items() if key != "output"} if outcome else outcome
    return VisitOut(
        id=job.pk,
        station=job.station,
        visit=job.visit,
        state=job.state,
        attempt=job.attempt,
        kind=job.kind,
        agent=job.agent or None,
        result=job.result or None,
        exit_code=job.exit_code,
        summary=job.summary or None,
        outcome=rest,
        output=(outcome or {}).get("output"),
        omitted=omitted,
        by=job.reported_by or None,
        entered=job.created_at,
        started=job.started_at,
        ended=job.ended_at,
    )
