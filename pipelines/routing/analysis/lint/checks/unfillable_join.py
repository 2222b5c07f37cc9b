"""A join that can never fill: a station that it waits for delivers nothing, or not beside the others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations

from pipelines.routing.analysis.lint.finding import ERROR, Finding
from pipelines.routing.analysis.lint.subject import LintSubject, keys_reachable_from
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.rules import Rule
from pipelines.routing.document.stations import Station
from pipelines.routing.sentences import part_names as named

ID = "unfillable-join"
CAUSE = "Join that never completes"


def check(subject: LintSubject) -> Iterator[Finding]:
    for station in subject.line.stations:
        if station.join is not None:
            for message, hint in _join_faults(subject, station, station.join.wait_for):
                yield Finding(
                    check=ID,
                    severity=ERROR,
                    path=f"{subject.path_of_station_or_rule(station)}.join",
                    message=message,
                    hint=hint,
                    station=station.key,
                )


def _join_faults(
    subject: LintSubject, station: Station, wait_for: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    here, line = station.key, subject.line
    words = {"here": named.station_part_name(line, here)}
    if here in wait_for:
        yield (
            _("The join of %(here)s waits for %(here)s itself", **words),
            "wait for the stations before it",
        )
        return
    delivering = {transition.source for transition in subject.transitions if transition.target == here}
    silent = [key for key in wait_for if key not in delivering]
    for key in silent:
        words["key"] = named.station_part_name(line, key)
        yield (
            _("The join of %(here)s waits for %(key)s, which never leads to %(here)s", **words),
            _("lead %(key)s to %(here)s, or do not wait for it", **words),
        )
    # Of a station that never delivers it is told already.
    if not silent:
        yield from _unforked_faults(subject, here, wait_for)


def _unforked_faults(subject: LintSubject, here: str, wait_for: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Two stations that no fork leads to in different branches: one token delivers one of them."""
    forks = [_branch_stations(subject, rule, here) for rule in _live_forks(subject)]
    for one, other in combinations(wait_for, 2):
        if not any(_can_be_in_different_branches(branches, one, other) for branches in forks):
            yield (
                _(
                    "The join of %(here)s waits for %(one)s and %(other)s, which never run in branches of one fork",
                    here=named.station_part_name(subject.line, here),
                    one=named.station_part_name(subject.line, one),
                    other=named.station_part_name(subject.line, other),
                ),
                "fork to both before it, or wait for one",
            )
            return
    if len(wait_for) > 1 and not any(set(wait_for) <= frozenset().union(*branches) for branches in forks):
        yield (
            _(
                "The join of %(here)s waits for %(names)s, which no fork leads to together",
                here=named.station_part_name(subject.line, here),
                names=named.station_part_names(subject.line, wait_for),
            ),
            "fork to them together",
        )


def _live_forks(subject: LintSubject) -> Iterator[Rule]:
    for station in subject.line.stations:
        for rule in station.rules:
            alive = rule.fault is None and rule.id not in subject.dead_rules
            if len(rule.to) > 1 and alive and station.key in subject.keys_reached_from_start:
                yield rule


def _branch_stations(subject: LintSubject, rule: Rule, here: str) -> list[frozenset[str]]:
    """Return where each branch may get to before the join."""
    before = [
        (transition.source, transition.target)
        for transition in subject.transitions
        if transition.target != here
    ]
    return [keys_reachable_from({target}, before) for target in rule.to if target != here]


def _can_be_in_different_branches(branches: list[frozenset[str]], one: str, other: str) -> bool:
    return any(one in a and other in b for a, b in permutations(branches, 2))
