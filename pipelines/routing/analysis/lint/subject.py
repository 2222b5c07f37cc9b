"""Subject of checks: a line, the analysis of its stations, and the transitions between them; each computed
once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from pipelines.routing.analysis.lint.guarantee_findings import GuaranteeFinding
from pipelines.routing.analysis.lint.people import People
from pipelines.routing.analysis.lint.station_analysis import Excerpts, StationAnalysis, analyse_station
from pipelines.routing.analysis.lint.transitions import (
    LintTransition,
    lint_transitions,
    policy_target_after_pass_or_none,
)
from pipelines.routing.analysis.satisfiability.liveness import DEAD, Liveness
from pipelines.routing.basics.problems import member_path
from pipelines.routing.document.algebra import (
    All,
    Always,
    Condition,
    EdgeCountTest,
    OutputTest,
    PathTest,
    condition_leaf_tests,
)
from pipelines.routing.document.checks import Check
from pipelines.routing.document.gates import Gate
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.paths import OutputPath
from pipelines.routing.document.rules import Rule
from pipelines.routing.document.stations import Station

MAX_LINE = 20_000_000
"""Units of work for all stations of a line together: some seconds. The first ones come first."""


RequiredChecks = Mapping[tuple[str, str], tuple[str, ...]]
"""{(repository, base as a line says it): names of the checks that its host requires before it merges there}."""


class PlacedLiveness(NamedTuple):
    """Rule of a station, by its index there, with what the analysis says of it."""

    station: Station
    rule_index: int
    liveness: Liveness


class LintSubject:
    def __init__(
        self, line: ParsedLine, people: People | None = None, required: RequiredChecks | None = None
    ) -> None:
        self.line = line
        self.people = people
        self.required = required or {}
        self.promises: tuple[GuaranteeFinding, ...] = ()

    def analysis(self, station: Station) -> StationAnalysis:
        return self._analyses[station.key]

    @cached_property
    def _analyses(self) -> dict[str, StationAnalysis]:
        studies: dict[str, StationAnalysis] = {}
        left, excerpts = MAX_LINE, Excerpts(self.line)
        for station in self.line.stations:
            studies[station.key] = analyse_station(self.line, station, left, excerpts)
            left = max(left - studies[station.key].cost, 0)
        return studies

    def liveness_of_all_rules(self) -> Iterator[PlacedLiveness]:
        for station in self.line.stations:
            for index, liveness in enumerate(self.analysis(station).standings):
                yield PlacedLiveness(station, index, liveness)

    @cached_property
    def dead_rules(self) -> frozenset[str]:
        """Ids of rules that can never be taken."""
        return frozenset(s.rule.id for _, _, s in self.liveness_of_all_rules() if s.status == DEAD)

    @cached_property
    def transitions(self) -> tuple[LintTransition, ...]:
        """Transitions from station to station and to ends, those of dead rules left out."""
        return tuple(lint_transitions(self.line, self.dead_rules, self.unmatched_outcomes))

    @cached_property
    def unmatched_outcomes(self) -> frozenset[tuple[str, str]]:
        """(station, passed or failed) for which some outcome is taken by no rule, or may be."""
        return frozenset(
            (station.key, outcome_state)
            for station in self.line.stations
            for outcome_state in ("passed", "failed")
            if self._has_unmatched(station, outcome_state)
        )

    def _has_unmatched(self, station: Station, outcome_state: str) -> bool:
        # `failure_rules: no` sends failed outcomes past the rules to `on_failure` (law §4).
        failed_go_past = outcome_state == "failed" and not self.line.policy.failure_rules
        faulty = any(rule.fault for rule in station.rules)
        return (
            failed_go_past
            or faulty
            or self.analysis(station).outcomes_no_rule_takes(outcome_state) is not None
        )

    @cached_property
    def policy_target_by_station(self) -> dict[str, str]:
        """Targets to which the policy leads passed outcomes on, by key of the station that they leave. A
        station with rules is included where an outcome is known that no rule takes and that goes on in the
        order of the line."""
        targets: dict[str, str] = {}
        for station in self.line.stations:
            target = policy_target_after_pass_or_none(self.line, station)
            if target is not None and (not station.rules or self._may_unmatched_pass_go_on(station)):
                targets[station.key] = target
        return targets

    def _may_unmatched_pass_go_on(self, station: Station) -> bool:
        # What the form of a rule says needs no analysis of the line, which pages that only draw it have not.
        if self.line.policy.no_match != "default" or any(map(is_unconditional, station.rules)):
            return False
        rest = self.analysis(station).outcomes_no_rule_takes("passed")
        return rest is not None and rest.witness is not None

    @cached_property
    def keys_reached_from_start(self) -> frozenset[str]:
        """Stations and ends to which transitions lead from the start."""
        return keys_reachable_from(
            {self.line.start}, [(transition.source, transition.target) for transition in self.transitions]
        )

    def path_of_station_or_rule(self, station: Station, index: int | None = None) -> str:
        place = member_path("stations", self.line.index_of_station(station.key))
        return place if index is None else f"{place}.rules[{index}]"


def keys_reachable_from(begin: set[str], pairs: list[tuple[str, str]]) -> frozenset[str]:
    """Everything that the pairs lead to, step by step, the beginning included."""
    after: dict[str, list[str]] = {}
    for source, target in pairs:
        after.setdefault(source, []).append(target)
    reached, todo = set(begin), list(begin)
    while todo:
        for target in after.get(todo.pop(), ()):
            if target not in reached:
                reached.add(target)
                todo.append(target)
    return frozenset(reached)


def is_unconditional(rule: Rule) -> bool:
    return rule.fault is None and _is_always(rule.when)


def _is_always(condition: Condition) -> bool:
    """Return whether a condition is always true by its form alone; a condition that happens to be true of
    everything is reported by constant-condition."""
    if isinstance(condition, All):
        return all(map(_is_always, condition.members))
    return isinstance(condition, Always)


def places_with_paths_of_rule(rule: Rule, form: type[PathTest]) -> Iterator[tuple[str, OutputPath]]:
    """List the paths that a rule reads by conditions of this form, and those of the output that it composes, each with
    its place in the rule."""
    for leaf in condition_leaf_tests(rule.when):
        if isinstance(leaf, form):
            yield "when", leaf.path
    # `compose` reads the document of conditions on output, never facts (law §8a, §13).
    for index, compose in enumerate(rule.compose if form is OutputTest else ()):
        if compose.path is not None:
            yield f"compose[{index}].path", compose.path


class PlacedGateCheck(NamedTuple):
    """Check of a gate with its place in the document, such as `gates[0].checks`."""

    place: str
    gate: Gate
    check: Check


def gate_checks(line: ParsedLine) -> Iterator[PlacedGateCheck]:
    """List the checks of all gates, and those by which a sample always asks, each with its place."""
    for index, gate in enumerate(line.gates):
        sampled = gate.sample.always if gate.sample else None
        for place, group in (("checks", gate.checks), ("sample.always", sampled)):
            for check in group.checks() if group else ():
                yield PlacedGateCheck(f"gates[{index}].{place}", gate, check)


def edge_count_tests(condition: Condition) -> Iterator[EdgeCountTest]:
    return (leaf for leaf in condition_leaf_tests(condition) if isinstance(leaf, EdgeCountTest))
