"""How long outcomes wait, are worked on and are held at gates, station by station: what half of them take, and nine of
ten, counted by the database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from pipelines.models import Line, LineVersion, Project, VersionStation

SHARES = "percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY EXTRACT(EPOCH FROM {})::float8)"
SPREAD = f"count(*), {SHARES}"

# The jobs of these versions that began in this time, as `jobs`: those that are done from an index alone, which has no
# others; few are not.
JOBS = """jobs AS MATERIALIZED (
    SELECT of.line_id, job.id, job.station,
      CASE WHEN job.kind <> 'manual' AND job.purpose = 'station' THEN job.started_at - job.created_at END AS waiting,
      CASE WHEN job.purpose = 'station' THEN job.ended_at - coalesce(job.started_at, job.created_at) END AS working
    FROM pipelines_lineversion of CROSS JOIN LATERAL (
      SELECT id, station, kind, purpose, created_at, started_at, ended_at FROM pipelines_job
      WHERE pinned_id = of.id AND state = 'done' AND created_at >= %(start)s AND created_at < %(end)s OFFSET 0
    ) AS job
    WHERE of.id = ANY(%(versions)s)
    UNION ALL
    SELECT of.line_id, job.id, job.station,
      CASE WHEN job.kind <> 'manual' AND job.purpose = 'station' THEN job.started_at - job.created_at END, NULL
    FROM pipelines_job job JOIN pipelines_lineversion of ON of.id = job.pinned_id
    WHERE job.state <> 'done' AND job.pinned_id = ANY(%(versions)s)
      AND job.created_at >= %(start)s AND job.created_at < %(end)s
)"""

# A visit is over after its job began.
OF_STATIONS = f"""WITH {JOBS}, held AS (
    SELECT jobs.line_id, jobs.station, {SPREAD.format("visit.decided_at - visit.opened_at")}
    FROM pipelines_gatevisit visit JOIN jobs ON jobs.id = visit.job_id
    WHERE visit.decided_at >= %(start)s GROUP BY 1, 2
), worked AS (
    SELECT line_id, station, count(waiting), {SHARES.format("waiting")},
      count(working), {SHARES.format("working")}
    FROM jobs GROUP BY 1, 2
)
SELECT worked.*, held.count, held.percentile_cont FROM worked LEFT JOIN held USING (line_id, station)"""


@dataclass(frozen=True, slots=True)
class Spread:
    """Seconds of `count` times."""

    count: int
    median: float
    p90: float


@dataclass(frozen=True, slots=True)
class StationTimes:
    """`waiting` until it was started, `working` until it reported, `gates`: at gates with its outcome."""

    line: str
    line_name: str
    key: str
    name: str
    waiting: Spread | None
    working: Spread | None
    gates: Spread | None

    @property
    def total(self) -> float:
        """About what an outcome takes here, in seconds."""
        return sum(each.median for each in (self.waiting, self.working, self.gates) if each)


def narrowed(versions: Iterable[int], since: datetime | None, until: datetime | None) -> dict[str, Any]:
    """The values of statements over what was done in that time under these versions."""
    return {"versions": list(versions), "start": since or "-infinity", "end": until or "infinity"}


def of_stations(
    versions: Iterable[int], since: datetime | None, until: datetime | None
) -> dict[tuple[int, str], list[Spread | None]]:
    """By line and station: `waiting`, `working` and `gates` of the jobs that began in that time."""
    with connection.cursor() as cursor:
        cursor.execute(OF_STATIONS, narrowed(versions, since, until))
        return {
            (line, key): [
                Spread(n, *times) if n else None for n, times in zip(rest[::2], rest[1::2], strict=True)
            ]
            for line, key, *rest in cursor.fetchall()
        }


def of_project(project: Project, since: datetime, until: datetime | None = None) -> list[StationTimes]:
    """The stations of what is live, where jobs began in that time; where an outcome takes longest comes first."""
    nothing: list[Spread | None] = [None, None, None]
    versions = LineVersion.objects.filter(line__project=project).values_list("pk", flat=True)
    spread = of_stations(versions, since, until)
    live = Line.objects.filter(project=project, live__isnull=False).values("live")
    stations = VersionStation.objects.filter(version__in=live)
    rows = stations.values_list(
        "version__line_id", "version__line__key", "version__line__name", "key", "name"
    )
    found = [
        StationTimes(line, line_name, key, name or key, *spread.get((pk, key), nothing))
        for pk, line, line_name, key, name in rows
    ]
    return sorted((each for each in found if each.total), key=lambda each: each.total, reverse=True)
