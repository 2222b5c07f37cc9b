"""Steps of a task's stations so far, for whoever decides about it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import BigIntegerField, QuerySet

from pipelines.models import Artifact, Job, Purpose, Task
from pipelines.models.plumbing.compiled_queries import compiled
from pipelines.queries.actors import station_actor_kind_and_name
from pipelines.routing.document.line import ParsedLine


@dataclass(frozen=True)
class PathStep:
    """The last run of a station on the task's path. `agent`: whether an agent did it, so that its words are a claim."""

    station: str
    job: Job
    agent: bool = False

    @property
    def result(self) -> str:
        """Its result as rules judge it: a verdict that says blocked counts before the exit code (law §2)."""
        is_blocked = (self.job.outcome or {}).get("verdict") == "blocked"
        return "blocked" if is_blocked else self.job.result

    @property
    def runs(self) -> int:
        return self.job.visit


def last_step_of_each_station_ended_before(
    task: Task, line: ParsedLine, before: datetime | None = None
) -> list[PathStep]:
    """The last run of each station, or the last that ended until `before`, in the order they ended."""
    done = [(job.ended_at, job) for job in _finished_jobs(task=task.pk)]
    # In the order they ended, so that the last one of a station stays
    last = {job.station: job for at, job in done if before is None or (at and at <= before)}
    known = line.stations_by_key
    return [
        PathStep(
            known[job.station].name if job.station in known else job.station,
            job,
            station_actor_kind_and_name(known.get(job.station))[0] == "agent",
        )
        for job in sorted(last.values(), key=lambda job: (job.ended_at, job.pk))
    ]


def artifacts_of_all_stations(task: Task) -> list[Artifact]:
    """Return the artifacts of all stations so far, in the order in which they came."""
    return _artifact_query(task=task.pk)


@compiled(task=BigIntegerField())
def _finished_jobs(task: Any) -> QuerySet[Job]:
    done = Job.objects.filter(task=task, purpose=Purpose.STATION, state=Job.State.DONE)
    return done.order_by("ended_at", "pk")


@compiled(task=BigIntegerField())
def _artifact_query(task: Any) -> QuerySet[Artifact]:
    return Artifact.objects.filter(task=task).select_related("blob", "job").order_by("job_id", "name")
