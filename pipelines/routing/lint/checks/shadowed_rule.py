"""A rule of which an earlier rule takes a part; the situation shows what."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.lint.finding import INFO, Finding
from pipelines.routing.lint.subject import Subject, is_unconditional
from pipelines.routing.regions.stations import SHADOWED

ID = "shadowed-rule"


def check(subject: Subject) -> Iterator[Finding]:
    """A rule without a condition is meant to take what is left: nothing is said of it."""
    for station, index, standing in subject.standings():
        if standing.status != SHADOWED or is_unconditional(standing.rule):
            continue
        for shadow in subject.analysis(station).shadows(standing.rule):
            yield Finding(
                check=ID,
                severity=INFO,
                path=subject.path(station, index),
                message=f"Rule {shadow.by} takes a part of what rule {standing.rule.id} would take",
                station=station.key,
                rule=standing.rule.id,
                rules=(shadow.by,),
                witness=shadow.witness,
            )
