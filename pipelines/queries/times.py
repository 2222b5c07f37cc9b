"""How long outcomes wait, are worked on and are held at gates, station by station: what half of them take, and nine of
ten, counted by the database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from pipelines.models import Line, Project, VersionStation

SHARES = "percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY EXTRACT(EPOCH FROM {})::float8)"
SPREAD = f"count(*), {SHARES}"

# `{jobs}`: the jobs that count, as `job`, each with its `task`; `{by}`: what they are counted by.
WAITING = f"""SELECT {{by}}, {SPREAD.format("job.started_at - job.created_at")}
FROM {{jobs}} WHERE job.started_at IS NOT NULL AND job.kind <> 'manual' AND job.purpose = 'station' GROUP BY {{by}}"""

WORKING = f"""SELECT {{by}}, {SPREAD.format("job.ended_at - coalesce(job.started_at, job.created_at)")}
FROM {{jobs}} WHERE job.ended_at IS NOT NULL AND job.purpose = 'station' GROUP BY {{by}}"""

AT_GATES = f"""SELECT {{by}}, {SPREAD.format("visit.decided_at - visit.opened_at")}
FROM {{jobs}} JOIN pipelines_gatevisit visit ON visit.job_id = job.id
WHERE visit.decided_at IS NOT NULL GROUP BY {{by}}"""


# The same of a whole project, by one reading of the jobs of the time: of which line one is its version says, so that no
# task is read. A visit is over after its job began.
OF_PROJECT = f"""WITH jobs AS MATERIALIZED (
    SELECT version.line_id, job.station, job.id,
      CASE WHEN job.kind <> 'manual' AND job.purpose = 'station' THEN job.started_at - job.created_at END AS waiting,
      CASE WHEN job.purpose = 'station' THEN job.ended_at - coalesce(job.started_at, job.created_at) END AS working
    FROM pipelines_job job JOIN pipelines_lineversion version ON version.id = job.pinned_id
    JOIN pipelines_line line ON line.id = version.line_id AND line.project_id = %(project)s
    WHERE job.created_at > %(since)s AND job.created_at < coalesce(%(until)s, 'infinity'::timestamptz)
), held AS (
    SELECT jobs.line_id, jobs.station, {SPREAD.format("visit.decided_at - visit.opened_at")}
    FROM pipelines_gatevisit visit JOIN jobs ON jobs.id = visit.job_id
    WHERE visit.decided_at > %(since)s GROUP BY 1, 2
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


def of_project(project: Project, since: datetime, until: datetime | None = None) -> list[StationTimes]:
    """The stations of what is live, where jobs began in that time; where an outcome takes longest comes first."""
    nothing: list[Spread | None] = [None, None, None]
    with connection.cursor() as cursor:
        cursor.execute(OF_PROJECT, {"project": project.pk, "since": since, "until": until})
        spread = {
            (line, key): [
                Spread(n, *times) if n else None for n, times in zip(rest[::2], rest[1::2], strict=True)
            ]
            for line, key, *rest in cursor.fetchall()
        }
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


def spreads(rows: Iterable[tuple[Any, ...]]) -> dict[str, Spread]:
    return {key: Spread(count, *spread) for key, count, spread in rows}
