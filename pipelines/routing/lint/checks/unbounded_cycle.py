"""A cycle that crosses no budget: only the cap on visits would stop it, by making the task stuck."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.lint.finding import WARNING, Finding
from pipelines.routing.lint.subject import Subject
from pipelines.routing.lint.visits import unbounded_cycles, worst_visits

ID = "unbounded-cycle"


def check(subject: Subject) -> Iterator[Finding]:
    cycles = unbounded_cycles(subject)
    most = worst_visits(subject) if cycles else {}
    for stations in cycles:
        visits = ", ".join(f"{key} at most {most.get(key, 0)}" for key in stations[:5])
        yield Finding(
            check=ID,
            severity=WARNING,
            path=subject.path(subject.line.station(stations[0])),
            message=f"A task can go round {' → '.join(stations)} without a budget; visits: {visits}",
            hint="give a rule of the cycle max_retries or max_visits, or a station limits: {max_visits: …}, or the line"
            " a budget for it",
            station=stations[0],
        )
