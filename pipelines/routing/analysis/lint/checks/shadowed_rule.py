"""A rule of which an earlier rule takes a part; the situation shows what."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import INFO, Finding
from pipelines.routing.analysis.lint.subject import LintSubject, is_unconditional
from pipelines.routing.analysis.regions.stations import SHADOWED

ID = "shadowed-rule"
MAX_NAMED = 5


def check(subject: LintSubject) -> Iterator[Finding]:
    """A rule without a condition is meant to take what is left: nothing is said of it."""
    for station, index, standing in subject.standings():
        if standing.status != SHADOWED or is_unconditional(standing.rule):
            continue
        shadows = subject.analysis(station).shadows(standing.rule)
        if shadows:
            names = [shadow.by for shadow in shadows]
            yield Finding(
                check=ID,
                severity=INFO,
                path=subject.path(station, index),
                message=f"{_named(names)} a part of what rule {standing.rule.id} would take",
                station=station.key,
                rule=standing.rule.id,
                rules=tuple(names),
                witness=shadows[0].witness,
            )


def _named(names: list[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    if len(names) == 1:
        return f"Rule {names[0]} takes"
    return f"Rules {', '.join(names[:MAX_NAMED])}{more} take"
