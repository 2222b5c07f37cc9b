"""Generation of one scenario for each rule that can be taken, by search and run before anybody sees it; for
every other rule the reason why there is none."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from pipelines.routing.analysis.lint.subject import LintSubject, edge_count_tests
from pipelines.routing.analysis.satisfiability.liveness import DEAD, Liveness
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import Rule
from pipelines.routing.document.stations import Station
from pipelines.routing.simulate.candidates import Candidates
from pipelines.routing.simulate.expectations import trace_summary
from pipelines.routing.simulate.path_search import (
    Edges,
    Going,
    Key,
    PathSearch,
    accept_always,
    key_function_with_all_counts,
    key_function_with_edge_counts,
    key_of_positions,
)
from pipelines.routing.simulate.run import expectation_of_same_walk, run_scenario_until_refused
from pipelines.routing.simulate.scenario import ScenarioScript, ScenarioStep
from pipelines.routing.simulate.state import start_task

BOUND = 60_000
"""Steps that are walked to find the scenarios of one line, and once more as many to prove them."""
PER_STATION = 8_000
"""Steps of one finer search."""
NEVER, NOT_FOUND = "never", "not found"
_STRANGE = re.compile(r"[^a-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class MissingScenario:
    """A rule without a scenario. `kind`: never (proved), or not found."""

    rule: str
    station: str
    kind: str
    why: str

    def __str__(self) -> str:
        return f"{self.rule} at {self.station}: {self.kind}: {self.why}"


@dataclass(frozen=True, slots=True)
class GeneratedScenarios:
    """`scenarios`: one for each rule that was found, in the order of the line. `stopped`: before it was done, because
    whoever asked would wait no longer."""

    scenarios: tuple[ScenarioScript, ...]
    missing: tuple[MissingScenario, ...]
    stopped: bool = False


def generate_scenarios(
    line: ParsedLine, *, taken_keys: Iterable[str] = (), bound: int = BOUND, going: Going = accept_always
) -> GeneratedScenarios:
    """A scenario for each rule that is live or partly shadowed. `taken_keys`: keys that the new ones must not have.
    `going` is asked before each step; once it says no, what was found so far is all."""
    subject = LintSubject(line)
    standings = {
        liveness.rule.id: (station, liveness) for station, _, liveness in subject.liveness_of_all_rules()
    }
    reasons = {rule: _never_matches_reason(subject, *pair) for rule, pair in standings.items()}
    never = {rule: why for rule, why in reasons.items() if why}
    hunt = _ScenarioSearch(line, subject, [rule for rule in standings if rule not in never], bound, going)
    paths = hunt.find_paths()
    keys, scenarios, missing = set(taken_keys), [], []
    for rule, (station, liveness) in standings.items():
        name = f"{station.name}: {liveness.rule.label or rule}"
        scenario = _proved_scenario_or_none(
            line, rule, name, hunt.steps_if_affordable(rule, paths.get(rule)), keys
        )
        if scenario is not None:
            scenarios.append(scenario)
        elif rule in never:
            missing.append(MissingScenario(rule, station.key, NEVER, never[rule]))
        else:
            missing.append(
                MissingScenario(rule, station.key, NOT_FOUND, hunt.missing_reason(station, liveness))
            )
    return GeneratedScenarios(tuple(scenarios), tuple(missing), hunt.was_stopped)


def _never_matches_reason(subject: LintSubject, station: Station, liveness: Liveness) -> str:
    """Return why the rule is proved never to be taken on a way by rules, policy and votes; or an empty text."""
    if liveness.status == DEAD:
        return dead_rule_reason(liveness)
    if station.key not in subject.keys_reached_from_start:
        return f"no rule and no policy leads from {subject.line.start} to {station.key}; only a jump or a person's hand"
    return ""


def dead_rule_reason(liveness: Liveness) -> str:
    """Return why a dead rule is dead."""
    if liveness.never:
        return "its condition can never be true"
    return f"earlier rules take everything that it would: {', '.join(liveness.killers)}"


class _ScenarioSearch:
    """The searches of one line: a coarse one for all rules, then finer ones, station by station, for what is left."""

    def __init__(
        self, line: ParsedLine, subject: LintSubject, rule_ids: list[str], bound: int, going: Going
    ) -> None:
        self._line = line
        self._wanted = rule_ids
        self._start = start_task(line, ScenarioScript("start", "start"))
        self._going = going
        self._search = PathSearch(line, Candidates(line, subject), bound, going)
        self._proofs = bound
        self._cut: set[str] = set()
        self._unproved: set[str] = set()

    def find_paths(self) -> dict[str, tuple[ScenarioStep, ...]]:
        paths = self._search.find_paths(self._start, self._wanted, key_of_positions, self._search.left)
        self._record_whether_search_was_cut(self._rules_without_path(paths))
        for station in self._line.stations:
            remaining = [rule.id for rule in station.rules if rule.id in self._rules_without_path(paths)]
            # A coarse key first: a finer one tells more walks apart, and uses up its steps sooner
            for key in self._finer_keys(station):
                if remaining:
                    paths |= self._search.find_paths(self._start, remaining, key, PER_STATION)
                    remaining = [rule for rule in remaining if rule not in paths]
                    self._record_whether_search_was_cut(remaining)
        return paths

    def steps_if_affordable(
        self, rule: str, steps: tuple[ScenarioStep, ...] | None
    ) -> tuple[ScenarioStep, ...] | None:
        """The steps, if as many may still be walked to prove them."""
        if steps is None:
            return None
        # Each step is walked once more to prove it, which the bound of the search does not count
        self._proofs -= len(steps)
        if self._proofs >= 0 and self._going():
            return steps
        self._unproved.add(rule)
        return None

    @property
    def was_stopped(self) -> bool:
        """Return whether something is left to look for, and nobody waits for it any more."""
        return bool(self._cut or self._unproved) and not self._going()

    def missing_reason(self, station: Station, liveness: Liveness) -> str:
        """Return why the search has no scenario for the rule, as far as it is known."""
        rule = liveness.rule.id
        if rule in self._unproved:
            return "a way was found, but the bound of steps was reached before it was run"
        if station.key not in self._search.reached:
            explanation = f"no way to {station.name} was found"
        elif rule in self._search.tried:
            explanation = f"its station was reached, but: {trace_summary(self._search.tried[rule].decision)}"
        else:
            explanation = liveness.why or "its station was reached, but no outcome that was tried took it"
        bound = "the bound of steps was reached" if self._going() else "the time for it was over"
        return f"{explanation}; {bound}" if rule in self._cut else explanation

    def _rules_without_path(self, paths: Collection[str]) -> list[str]:
        return [rule for rule in self._wanted if rule not in paths]

    def _record_whether_search_was_cut(self, rules: list[str]) -> None:
        self._cut = (self._cut | set(rules)) if self._search.cut else self._cut - set(rules)

    def _finer_keys(self, station: Station) -> Iterator[Key]:
        edges = _highest_read_edge_counts(station.rules)
        if edges:
            yield key_function_with_edge_counts(edges)
        yield key_function_with_all_counts(edges)


def _highest_read_edge_counts(rules: Iterable[Rule]) -> Edges:
    """The edges whose number the conditions of these rules read."""
    edge_counts: Edges = {}
    for rule in rules:
        for edge in edge_count_tests(rule.when):
            name = f"{edge.source}->{edge.target}"
            # Above the highest number that is asked for, once more makes no difference to any of them
            edge_counts[name] = max(edge_counts.get(name, 0), edge.at_least)
    return edge_counts


# The scenario


def _proved_scenario_or_none(
    line: ParsedLine, rule: str, name: str, steps: tuple[ScenarioStep, ...] | None, keys: set[str]
) -> ScenarioScript | None:
    """Return the scenario with the result of its run as its expectation; None unless it takes the rule."""
    if steps is None:
        return None
    result = run_scenario_until_refused(
        line, ScenarioScript(_unused_scenario_key(rule, keys), name[:200], steps)
    )
    if not result.holds or rule not in result.matched_rules or result.walk is None:
        return None
    keys.add(result.scenario.key)
    return replace(result.scenario, expect=expectation_of_same_walk(result))


def _unused_scenario_key(rule: str, keys: Collection[str]) -> str:
    plain = _STRANGE.sub("-", rule.lower()).strip("-._") or "rule"
    key, number = f"takes-{plain}"[:64], 2
    while key in keys:
        # A key has at most 64 characters: 58 leave room for the number.
        key, number = f"{f'takes-{plain}'[:58]}-{number}", number + 1
    return key
