"""A rework station that stands below the stage whose rework it does: to enter it counts as forward."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject

ID = "rework-below"


def check(subject: LintSubject) -> Iterator[Finding]:
    line = subject.line
    for station in line.stations:
        stage = line.stage(station.key)
        if stage in line.stations_by_key and line.position(station.key) > line.position(stage):
            yield Finding(
                check=ID,
                severity=WARNING,
                path=f"{subject.path(station)}.stage",
                message=f"{station.key} does the rework of {stage} and stands below it, so that to send work"
                " there counts as forward: it needs what a forward move needs, and an open escalation blocks it",
                hint=f"move {station.key} above {stage}",
                station=station.key,
            )
