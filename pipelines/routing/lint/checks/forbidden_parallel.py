"""A fork whose branches can bring a pair of stations to run at once that must never do so."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from pipelines.routing.lint.finding import ERROR, WARNING, Finding
from pipelines.routing.lint.subject import Subject, spread
from pipelines.routing.model import Rule

ID = "forbidden-parallel"


def check(subject: Subject) -> Iterator[Finding]:
    """Directly: an error. Further on in the branches, before a join: a warning, since they may not get there."""
    if not subject.line.forbidden_parallel:
        return
    for station in subject.line.stations:
        for index, rule in enumerate(station.rules):
            if len(rule.to) > 1 and rule.fault is None:
                for severity, pair in _pairs(subject, rule):
                    yield Finding(
                        check=ID,
                        severity=severity,
                        path=f"{subject.path(station, index)}.to",
                        message=f"Rule {rule.id} forks so that {pair[0]} and {pair[1]} can run in parallel",
                        hint="let one follow the other",
                        station=station.key,
                        rule=rule.id,
                    )


def _pairs(subject: Subject, rule: Rule) -> Iterator[tuple[str, tuple[str, str]]]:
    joins = {station.key for station in subject.line.stations if station.join}
    inside = [(w.source, w.target) for w in subject.ways if w.target not in joins]
    branches = {target: spread({target}, inside) for target in rule.to if target not in joins}
    for pair in subject.line.forbidden_parallel:
        if set(pair) <= set(rule.to):
            yield ERROR, pair
        elif any(pair[0] in branches[a] and pair[1] in branches[b] for a, b in permutations(branches, 2)):
            yield WARNING, pair
