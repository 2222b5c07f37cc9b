"""Times that outcomes wait, are worked on and stay at gates, station by station: what half of them take, and
nine of ten, counted by the database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.models import Line, LineVersion, Project, VersionStation
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.queries.statements import STATION_TIMES


@dataclass(frozen=True, slots=True)
class TimeSpread:
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
    waiting: TimeSpread | None
    working: TimeSpread | None
    gates: TimeSpread | None

    @property
    def total(self) -> float:
        """About what an outcome takes here, in seconds."""
        return sum(spread.median for spread in (self.waiting, self.working, self.gates) if spread)


def station_time_parameters(
    versions: Iterable[int], since: datetime | None, until: datetime | None
) -> dict[str, Any]:
    """The values of statements over what was done in that time under these versions."""
    # PostgreSQL knows both as timestamps, so that one statement does for open ranges, too.
    return {"versions": list(versions), "start": since or "-infinity", "end": until or "infinity"}


def station_time_spreads(
    versions: Iterable[int], since: datetime | None, until: datetime | None
) -> dict[tuple[int, str], list[TimeSpread | None]]:
    """Return `waiting`, `working` and `gates` of the jobs that began in that time, by line and station."""
    return {
        (line, key): [
            TimeSpread(n, *times) if n else None for n, times in zip(rest[::2], rest[1::2], strict=True)
        ]
        for line, key, *rest in fetch(STATION_TIMES, station_time_parameters(versions, since, until))
    }


def project_station_times(
    project: Project, since: datetime, until: datetime | None = None, line: Line | None = None
) -> list[StationTimes]:
    """The stations of what is live, where jobs began in that time; where an outcome takes longest comes first. `line`
    narrows to one, whose stations come in its order."""
    nothing: list[TimeSpread | None] = [None, None, None]
    lines = Line.objects.filter(project=project, **({"pk": line.pk} if line else {}))
    versions = LineVersion.objects.filter(line__in=lines).values_list("pk", flat=True)
    spread = station_time_spreads(versions, since, until)
    live = lines.filter(live__isnull=False).values("live")
    stations = VersionStation.objects.filter(version__in=live)
    rows = stations.values_list(
        "version__line_id", "version__line__key", "version__line__name", "key", "name"
    )
    station_times = [
        StationTimes(line, line_name, key, name or key, *spread.get((pk, key), nothing))
        for pk, line, line_name, key, name in rows
    ]
    known = [times for times in station_times if times.total]
    return known if line else sorted(known, key=lambda times: times.total, reverse=True)
