"""A rule that can never be taken, because earlier rules take everything that it would; the situation shows one."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import ERROR, Finding
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.regions.stations import DEAD

ID = "dead-rule"


def check(subject: LintSubject) -> Iterator[Finding]:
    for station, index, standing in subject.standings():
        if standing.status == DEAD and not standing.never:
            killers = ", ".join(standing.killers)
            take = "together take" if len(standing.killers) > 1 else "takes"
            yield Finding(
                check=ID,
                severity=ERROR,
                path=subject.path(station, index),
                message=f"Rule {standing.rule.id} can never be taken: {killers} {take} all of it",
                hint="move it up, narrow the rules above, or remove it",
                station=station.key,
                rule=standing.rule.id,
                rules=standing.killers,
                witness=standing.instead,
            )
