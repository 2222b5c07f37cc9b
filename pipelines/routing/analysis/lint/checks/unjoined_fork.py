"""A fork whose branches meet at a station that does not wait for them: each goes on from there by itself."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject, keys_reachable_from
from pipelines.routing.analysis.lint.transitions import LintTransition
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.algebra import All, AnyOf, Condition, FailureTypeTest, ResultTest, VerdictTest
from pipelines.routing.document.rules import Rule
from pipelines.routing.document.stations import Station
from pipelines.routing.sentences import part_names as named

ID = "unjoined-fork"
CAUSE = "Fork without a join"


def check(subject: LintSubject) -> Iterator[Finding]:
    for station in subject.line.stations:
        for index, rule in enumerate(station.rules):
            if len(rule.to) > 1 and rule.fault is None and rule.id not in subject.dead_rules:
                for key, sources in unjoined_stations(subject, station, rule):
                    words = {
                        "rule": named.rule_phrase(subject.line, rule.id),
                        "key": named.station_part_name(subject.line, key),
                        "names": named.station_part_names(subject.line, sources),
                    }
                    yield Finding(
                        check=ID,
                        severity=WARNING,
                        path=f"{subject.path_of_station_or_rule(station, index)}.to",
                        message=_(
                            "The branches of rule %(rule)s meet at %(key)s, which does not wait for %(names)s:"
                            " %(key)s runs once for each",
                            **words,
                        ),
                        hint=_("let %(key)s wait for %(names)s", **words),
                        station=key,
                        rule=rule.id,
                    )


def unjoined_stations(subject: LintSubject, station: Station, rule: Rule) -> Iterator[tuple[str, list[str]]]:
    """Yield the stations where branches come together for the first time, each by a station that is in its
    branch alone; with these stations. What failed may end up at one place from everywhere, and so may what
    goes back."""
    line = subject.line
    drawn = [transition for transition in subject.transitions if _is_forward_transition(subject, transition)]
    pairs = [(transition.source, transition.target) for transition in drawn]
    targets = [target for target in rule.to if target in line.stations_by_key]
    branches = [keys_reachable_from({target}, pairs) - {station.key} for target in targets]
    for place in line.stations:
        sources = {transition.source for transition in drawn if transition.target == place.key}
        # With `stage` it is a rework station, where what failed meets from everywhere.
        if place.join is not None or place.stage or place.key in targets:
            continue
        own = [
            [key for key in branch if key in sources and _is_in_one_branch(key, branches)]
            for branch in branches
        ]
        joining_keys = [key for keys in own for key in keys]
        if sum(bool(keys) for keys in own) > 1:
            yield place.key, sorted(joining_keys, key=line.index_of_station)


def _is_in_one_branch(key: str, branches: list[frozenset[str]]) -> bool:
    return sum(key in branch for branch in branches) == 1


def _is_forward_transition(subject: LintSubject, transition: LintTransition) -> bool:
    """Drawn, forward, and not for what failed alone."""
    line = subject.line
    if transition.target not in line.stations_by_key or transition.source not in line.stations_by_key:
        return False
    if line.index_of_station(transition.target) <= line.index_of_station(transition.source):
        return False
    if transition.by == "policy":
        after = line.next_station_or_none(transition.source)
        return after is not None and after.key == transition.target
    return (
        transition.by == "rule"
        and transition.rule is not None
        and not _does_form_require_failure(transition.rule.when)
    )


def _does_form_require_failure(condition: Condition) -> bool:
    """Return whether a condition, by its form, names a failure."""
    if isinstance(condition, All):
        return any(map(_does_form_require_failure, condition.members))
    if isinstance(condition, AnyOf):
        return bool(condition.members) and all(map(_does_form_require_failure, condition.members))
    if isinstance(condition, ResultTest):
        return "success" not in condition.results
    if isinstance(condition, VerdictTest):
        return "pass" not in condition.verdicts
    return isinstance(condition, FailureTypeTest)
