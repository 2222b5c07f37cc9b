"""The passes through the rules of a station that `decide` can make (law §5, steps 3 to 8), each with what was said at
gates before, and whether the visit still counts as passed (law §14)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.document.gates import Gate
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import Rule
from pipelines.routing.document.stations import Station
from pipelines.routing.guarantees.rule_outcomes import (
    BLOCKED,
    EXHAUSTED,
    FAILED,
    FALLBACK,
    PASSED,
    PROCEED,
    RECORDED,
    REWORKED,
    RuleOutcome,
    possible_truth_or_none,
)

APPROVE, SEND_BACK, REWORK = "approve", "send_back", "rework"
Words = Mapping[str, str]
"""Of gates: what certainly was said at them, `approve` where their checks alone let it pass."""
Opened = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
MOST_ROUTES = 4_000
"""Of one station; beyond it what is left out of rules is not told apart any more."""


def is_surely_passed(gate: Gate) -> bool:
    """Tell whether nothing goes on from it without an approval, or the checks that stand for one."""
    return (gate.has_people and gate.sample is None) or (not gate.has_people and gate.enforces_checks)


def gate_may_ask(gate: Gate, action: str) -> bool:
    """Tell whether a check or the tool of the gate can ask for it."""
    checks = gate.checks.checks() if gate.checks is not None and gate.enforces_checks else ()
    return action in gate.tool_actions or any(
        check.action == action for check in checks if check.severity != "warn"
    )


def can_ask(gate: Gate, station: Station) -> bool:
    """Tell whether a person can be asked there: by its mode, by a check or tool that says hold, or by a fact that
    counts as a review (law §13)."""
    if gate.mode == "skip":
        return False
    reviewed = "review" in (station.outcome_of or {}).values()
    return gate.has_people or gate_may_ask(gate, "hold") or reviewed


@dataclass(frozen=True)
class RulePass:
    """`passed`: whether the visit may count as passed so far; where it may or not, it does not. `words`: what was said
    before. `forced`: no second forced route follows but after a person's word. `left_out`: ids of rules whose gate
    demanded rework, `spoken`: gates at which a person did. `gate_passed`: those of the station, with its checks.
    `people_only`: after `proceed`."""

    seen: RuleOutcome
    passed: bool = False
    words: Words = field(default_factory=dict)
    forced: bool = False
    left_out: frozenset[str] = frozenset()
    spoken: frozenset[str] = frozenset()
    gate_passed: bool = False
    people_only: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        return (
            self.seen,
            self.passed,
            tuple(sorted(self.words.items())),
            self.forced,
            self.left_out,
            self.spoken,
            self.gate_passed,
        )

    def without_passing(self) -> RulePass:
        return replace(self, passed=False)


class Routes:
    def __init__(self, line: ParsedLine, station: Station, subject: LintSubject) -> None:
        self.line, self.station, self.subject = line, station, subject
        self.gate = line.gate(station.gate) if station.gate else None
        self.rules = [
            rule for rule in station.rules if rule.fault is None and rule.id not in subject.dead_rules
        ]
        self.failed_by_policy: list[RulePass] = []
        """Those that go by `on_failure` because the compose of a rule failed, or because no second route is taken."""

    def all_passes(self) -> Iterator[RulePass]:
        known: set[tuple[object, ...]] = set()
        todo = [*self._first_routes()]
        while todo:
            route = todo.pop()
            if route.key in known:
                continue
            known.add(route.key)
            if len(known) > MOST_ROUTES:
                raise TooManyRoutes
            yield route
            todo += self._following_routes(route)

    # Where the rules begin

    def route_of_reported_outcome(self, outcome_state: str) -> RulePass:
        """Begin with what was reported, before the gate of the station."""
        return RulePass(
            next(outcome for outcome in RECORDED if outcome.standing == outcome_state)
            if outcome_state != BLOCKED
            else FALLBACK
        )

    def station_gate_routes(self) -> Iterator[RulePass]:
        """List how outcomes come to the gate of the station."""
        for outcome in (*RECORDED, *EXHAUSTED):
            yield RulePass(outcome, outcome.standing == PASSED)
        yield RulePass(PROCEED, people_only=True, forced=True)

    def _first_routes(self) -> Iterator[RulePass]:
        yield RulePass(FALLBACK, forced=True)
        if self.gate is None:
            for route in self.station_gate_routes():
                yield replace(route, gate_passed=True)
            return
        for route in self.station_gate_routes():
            yield from self._routes_past_station_gate(self.gate, route)

    def _routes_past_station_gate(self, gate: Gate, route: RulePass) -> Iterator[RulePass]:
        """List what leads on from the gate of the station."""
        if route.people_only and not gate.has_people:
            yield replace(route, gate_passed=gate.mode == "skip")
            return
        words = {gate.key: APPROVE} if is_surely_passed(gate) else {}
        unchecked = route.people_only and (gate.enforces_checks or gate.runs_its_tool)
        yield replace(route, words=words, gate_passed=not unchecked)
        if REWORK in gate.offers and self.can_be_asked_at_station(route):
            yield RulePass(REWORKED, words={gate.key: REWORK}, spoken=frozenset({gate.key}))
        if not route.people_only and gate_may_ask(gate, "rework") and not route.forced:
            yield RulePass(REWORKED, forced=True)

    def can_be_asked_at_station(self, route: RulePass) -> bool:
        assert self.gate is not None
        return self.gate.has_people if route.people_only else can_ask(self.gate, self.station)

    # Where they go on

    def possible_matches(self, route: RulePass) -> Iterator[Rule]:
        """The rules that can be the first match."""
        if route.seen.standing == FAILED and not self.line.policy.failure_rules:
            return
        for rule in self.rules:
            if rule.id in route.left_out:
                continue
            settled = possible_truth_or_none(rule.when, route.seen)
            if settled is not False:
                yield rule
            # It takes everything that comes: no rule below is reached.
            if settled is True:
                return

    def is_unmatched(self, route: RulePass) -> bool:
        """Tell whether it may be that no rule takes it."""
        if route.seen.standing == FAILED and not self.line.policy.failure_rules:
            return True
        left = [rule for rule in self.rules if rule.id not in route.left_out]
        if any(possible_truth_or_none(rule.when, route.seen) is True for rule in left):
            return False
        # `unmatched` speaks of all rules, and of outcomes that passed or failed.
        recorded = not route.left_out and route.seen.standing != BLOCKED
        return not recorded or (self.station.key, route.seen.standing) in self.subject.unmatched_outcomes

    def gates_where_person_can_be_asked(self, rule: Rule, route: RulePass) -> list[Gate]:
        """The gates of the rule at which somebody can be asked now."""
        return [
            gate
            for gate in map(self.line.gate, dict.fromkeys(rule.gates))
            if gate.key not in route.spoken
            # Approved at this visit before the rules, so nobody is asked there again
            and not (gate.key == self.station.gate and route.words.get(gate.key) == APPROVE)
            and can_ask(gate, self.station)
        ]

    def may_checks_ask_for(self, gate: Gate, route: RulePass, action: str) -> bool:
        return gate.mode != "skip" and gate.key not in route.spoken and gate_may_ask(gate, action)

    def words_with_rule_approvals(self, rule: Rule, route: RulePass) -> dict[str, str]:
        """Add the approvals, once all gates of the rule were passed. Where a person demanded this, nobody is asked."""
        words = dict(route.words)
        for gate in map(self.line.gate, rule.gates):
            if gate.key not in route.spoken and is_surely_passed(gate):
                words[gate.key] = APPROVE
        return words

    def _following_routes(self, route: RulePass) -> Iterator[RulePass]:
        """Forced routes that follow on this one."""
        for rule in self.possible_matches(route):
            yield from self._person_rework_routes(rule, route)
            yield from self._check_rework_routes(rule, route)
            if rule.compose:
                self.failed_by_policy.append(route)
                yield from self._fallback_routes(route, "on_failure")
        if self.is_unmatched(route):
            if route.seen.standing == FAILED:
                yield from self._fallback_routes(route, "on_failure")
            elif route.seen.standing == PASSED and self.station.rules:
                yield from self._fallback_routes(route, "no_match")

    def _person_rework_routes(self, rule: Rule, route: RulePass) -> Iterator[RulePass]:
        """Add what may have been said at another gate of the rule, which counts after rework."""
        gates, left_out = self.gates_where_person_can_be_asked(rule, route), route.left_out | {rule.id}
        for gate in gates:
            if REWORK not in gate.offers:
                continue
            words, spoken = {**route.words, gate.key: REWORK}, route.spoken | {gate.key}
            others = [other.key for other in gates if other.key != gate.key and SEND_BACK in other.offers]
            for more in ({}, *({other: SEND_BACK} for other in others)):
                after = {**words, **more}
                yield replace(
                    route, seen=REWORKED, words=after, forced=False, left_out=left_out, spoken=spoken
                )

    def _check_rework_routes(self, rule: Rule, route: RulePass) -> Iterator[RulePass]:
        if not any(self.may_checks_ask_for(self.line.gate(key), route, "rework") for key in rule.gates):
            return
        again = replace(route, seen=REWORKED, forced=True, left_out=route.left_out | {rule.id})
        if not route.forced:
            yield again
        elif route.spoken:
            self.failed_by_policy.append(again)

    def _fallback_routes(self, route: RulePass, knob: str) -> Iterator[RulePass]:
        if getattr(self.line.policy, knob) == "fallback" and not route.forced:
            yield replace(route, seen=FALLBACK, forced=True)


class TooManyRoutes(Exception):
    """More passes than MOST_ROUTES through the rules of one station."""
