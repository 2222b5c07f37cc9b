"""A fork whose branches can bring a pair of stations to run at once that must never do so."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from pipelines.routing.analysis.lint.finding import ERROR, WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject, keys_reachable_from
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.rules import Rule
from pipelines.routing.sentences import part_names as named

ID = "forbidden-parallel"
CAUSE = "Stations that must not run in parallel"


def check(subject: LintSubject) -> Iterator[Finding]:
    """Directly: an error. Further on in the branches, before a join: a warning, since they may not get there."""
    if not subject.line.forbidden_parallel:
        return
    for station in subject.line.stations:
        for index, rule in enumerate(station.rules):
            # Only a fork makes two run at once
            if len(rule.to) > 1 and rule.fault is None:
                for severity, pair in _forbidden_pairs(subject, rule):
                    yield Finding(
                        check=ID,
                        severity=severity,
                        path=f"{subject.path_of_station_or_rule(station, index)}.to",
                        message=_(
                            "Rule %(rule)s forks so that %(one)s and %(other)s can run in parallel",
                            rule=named.rule_phrase(subject.line, rule.id),
                            one=named.station_part_name(subject.line, pair[0]),
                            other=named.station_part_name(subject.line, pair[1]),
                        ),
                        hint="let one follow the other",
                        station=station.key,
                        rule=rule.id,
                    )


def _forbidden_pairs(subject: LintSubject, rule: Rule) -> Iterator[tuple[str, tuple[str, str]]]:
    branches = _branches(subject, rule)
    for pair in subject.line.forbidden_parallel:
        at_once = {target for target in rule.to if target in pair}
        if len(at_once) == 2:
            yield ERROR, pair
        elif any(
            pair[0] in one and pair[1] in other
            for (of_one, one), (of_other, other) in permutations(branches, 2)
            # What comes of the same target follows it, and does not run beside it.
            if not of_one & of_other
        ):
            yield WARNING, pair


Branch = tuple[frozenset[str], frozenset[str]]
"""The targets of the fork that it comes from, several where a join has made them one; and where it may be then."""


def _branches(subject: LintSubject, rule: Rule) -> list[Branch]:
    """Return the branches: each target's, up to the joins that it waits at for others; and what goes on from
    a join while others live."""
    begun = [
        target
        for target in rule.to
        if not subject.line.does_token_wait_at_join(target, _source_station(subject, rule))
    ]
    branches = [(frozenset({target}), _reached_stations(subject, target)) for target in begun]
    for station in subject.line.stations:
        if station.join is None:
            continue
        fed = [branch for branch in branches if branch[1] & set(station.join.wait_for)]
        targets = frozenset().union(*(of for of, _ in fed))
        filled = set(station.join.wait_for) <= frozenset().union(*(reach for _, reach in fed))
        # Where all targets have met, no branch is left to run beside.
        if len(fed) > 1 and filled and targets != set(rule.to):
            branches.append((targets, _reached_stations(subject, station.key)))
    return branches


def _source_station(subject: LintSubject, rule: Rule) -> str:
    return subject.line.rules_by_id[rule.id][0].key


def _reached_stations(subject: LintSubject, begin: str) -> frozenset[str]:
    """Return the stations that a token reaches by itself, and with the branches that it forks into: a join
    that they fill is none that it waits at for others."""
    line, passed = subject.line, {begin}
    # Filling one join may open the way to the next
    while True:
        transitions = [
            (transition.source, transition.target)
            for transition in subject.transitions
            if transition.target in passed
            or not line.does_token_wait_at_join(transition.target, transition.source)
        ]
        reached = keys_reachable_from({begin}, transitions)
        filled = {s.key for s in line.stations if s.join and set(s.join.wait_for) <= reached}
        if filled <= passed:
            return reached
        passed |= filled
