"""A station to which no way leads from the start."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject

ID = "unreachable-station"


def check(subject: LintSubject) -> Iterator[Finding]:
    """Jumps of a signal and moves by hand lead anywhere and are no ways here."""
    for station in subject.line.stations:
        if station.key not in subject.reached:
            yield Finding(
                check=ID,
                severity=WARNING,
                path=subject.path(station),
                message=f"No rule and no policy leads from {subject.line.start} to {station.key}",
                hint="add a rule that leads there, or remove it; only a jump or a person's hand gets there",
                station=station.key,
            )
