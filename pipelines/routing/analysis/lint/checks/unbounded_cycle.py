"""A cycle that crosses no budget: only the cap on visits would stop it, by making the task stuck."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.lint.visits import unbounded_cycles

ID = "unbounded-cycle"


def check(subject: LintSubject) -> Iterator[Finding]:
    cap = subject.line.policy.visit_cap
    for stations in unbounded_cycles(subject):
        names = [subject.line.station(key).name for key in (*stations, stations[0])]
        yield Finding(
            check=ID,
            severity=WARNING,
            path=subject.path(subject.line.station(stations[0])),
            message=f"{' → '.join(names)} has no limit (only the cap of {cap} visits)",
            hint="give a rule of the cycle max_retries or max_visits, or a station limits: {max_visits: …}, or the line"
            " a budget for it",
            station=stations[0],
        )
