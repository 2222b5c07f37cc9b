"""A rule of which it is not known whether it can be taken, or whether earlier ones take a part; never a guess."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import INFO, Finding
from pipelines.routing.analysis.lint.subject import LintSubject, is_unconditional
from pipelines.routing.analysis.regions.stations import UNKNOWN, Liveness

ID = "undecided"


def check(subject: LintSubject) -> Iterator[Finding]:
    """Of a rule without a condition, which is meant to take what is left, a part that is taken is no matter."""
    for station, index, standing in subject.standings():
        if standing.status == UNKNOWN or (standing.why and not is_unconditional(standing.rule)):
            yield Finding(
                check=ID,
                severity=INFO,
                path=subject.path(station, index),
                message=_said(standing),
                station=station.key,
                rule=standing.rule.id,
            )


def _said(standing: Liveness) -> str:
    if standing.status == UNKNOWN:
        return f"Unknown whether rule {standing.rule.id} can be taken: {standing.why}"
    return f"Unknown whether an earlier rule takes a part of rule {standing.rule.id}: {standing.why}"
