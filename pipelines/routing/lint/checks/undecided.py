"""A rule of which it is not known whether it can be taken, and why; never a guess."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.lint.finding import INFO, Finding
from pipelines.routing.lint.subject import Subject
from pipelines.routing.regions.stations import UNKNOWN

ID = "undecided"


def check(subject: Subject) -> Iterator[Finding]:
    for station, index, standing in subject.standings():
        if standing.status == UNKNOWN:
            yield Finding(
                check=ID,
                severity=INFO,
                path=subject.path(station, index),
                message=f"Unknown whether rule {standing.rule.id} can be taken: {standing.why}",
                station=station.key,
                rule=standing.rule.id,
            )
