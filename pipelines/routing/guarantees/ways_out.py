"""Every way out of a station, whatever is reported, voted and answered: what `decide` can do, or a little more.

By rules, exhausted limits, the policy, votes and checks at gates, signals and the jumps that the line allows.
Each has the votes on it, and whether the visit that it ends passed. Left out: moves by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.lint.transitions import policy_target_after_pass_or_none
from pipelines.routing.decide.steps.gates import RANK
from pipelines.routing.document.gates import JUMP_GATE, Gate
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.preconditions import GATE_PASSED
from pipelines.routing.document.rules import BLOCKED, Rule
from pipelines.routing.document.stations import Station
from pipelines.routing.guarantees.routes import (
    APPROVE,
    SEND_BACK,
    Opened,
    Routes,
    RulePass,
    Words,
    is_surely_passed,
)
from pipelines.routing.guarantees.rule_outcomes import BLOCKED as BLOCKED_STANDING
from pipelines.routing.guarantees.rule_outcomes import FAILED, PASSED

__all__ = ["APPROVE", "SEND_BACK", "WayOut", "Words", "is_surely_passed", "ways_out_by_station"]
REJECT, ABORT = "reject", "abort"


@dataclass(frozen=True)
class WayOut:
    """`target`: a station, an end or `@origin`; "" where it only comes to gates. `by`: rule, exhausted, policy, gate,
    signal, jump. `standing`: what a branch counts as at a join. `passed`: whether the visit that it ends passed (law
    §14); where it may have or not, it did not. `opened`: gates that it comes to, each with what was said before. `at`:
    the gate that sent it there, or the review of a jump."""

    source: str
    target: str
    by: str
    standing: str
    passed: bool
    rule: Rule | None = None
    words: Words = field(default_factory=dict)
    opened: Opened = ()
    at: str = ""

    @property
    def needs_signal(self) -> bool:
        """Tell whether it needs a signal, which no join reports."""
        return self.by in ("signal", "jump") or self.at == JUMP_GATE.key

    @property
    def key(self) -> tuple[object, ...]:
        rule = self.rule.id if self.rule else ""
        words = tuple(sorted(self.words.items()))
        return (
            self.source,
            self.target,
            self.by,
            self.standing,
            self.passed,
            rule,
            words,
            self.opened,
            self.at,
        )


def ways_out_by_station(subject: LintSubject) -> dict[str, tuple[WayOut, ...]]:
    """List those of every station."""
    line = subject.line
    return {
        station.key: _distinct_ways(_StationWays(line, station, subject).all_ways())
        for station in line.stations
    }


def _distinct_ways(ways: Iterator[WayOut]) -> tuple[WayOut, ...]:
    return tuple({way.key: way for way in ways}.values())


class _StationWays:
    def __init__(self, line: ParsedLine, station: Station, subject: LintSubject) -> None:
        self.line, self.station = line, station
        self.gate = line.gate(station.gate) if station.gate else None
        self.routes = Routes(line, station, subject)
        self.spent = [budget.exhausted_to for budget in line.named_budgets_in_force if budget.exhausted_to]

    def all_ways(self) -> Iterator[WayOut]:
        yield from self._ways_by_signals()
        yield from self._ways_by_station_gate()
        for route in self.routes.all_passes():
            for rule in self.routes.possible_matches(route):
                yield from self._ways_by_rule(rule, route)
            if self.routes.is_unmatched(route):
                yield from self._ways_by_policy(route)
        for route in self.routes.failed_by_policy:
            yield from self._ways_by_failure_policy(route)

    def _ways_to(
        self,
        target: str,
        by: str,
        route: RulePass,
        rule: Rule | None = None,
        words: Words | None = None,
        at: str = "",
    ) -> Iterator[WayOut]:
        """List the way there, if it may go on; and where a named limit leads that such a move spends."""
        words = route.words if words is None else words
        # As `decide` has it: what a gate did not let through counts as failed at a join.
        outcome_state = FAILED if by == "gate" else route.seen.standing
        if self._may_go_on(target, route):
            yield WayOut(self.station.key, target, by, outcome_state, route.passed, rule, words, (), at)
        if target in self.line.stations_by_key or target.startswith("@"):
            for instead in self.spent:
                if self._may_go_on(instead, route):
                    yield WayOut(
                        self.station.key, instead, "exhausted", outcome_state, route.passed, None, words
                    )

    def _gate_arrivals(self, opened: Opened, route: RulePass) -> Iterator[WayOut]:
        """A task comes to gates, whatever follows there: it may never leave the station again."""
        if opened:
            yield WayOut(self.station.key, "", "gate", route.seen.standing, route.passed, None, {}, opened)

    def _may_go_on(self, target: str, route: RulePass) -> bool:
        """False of a forward move that waits until the gate of the station was passed (law §8)."""
        waits = self.gate is not None and not route.gate_passed
        if not waits or GATE_PASSED not in self.line.requirements_of(self.station.key):
            return True
        if target in self.line.stations_by_key:
            return self.line.index_of_station(target) <= self.line.index_of_station(self.station.key)
        return target not in self.line.ends_by_key or self.line.end(target).kind != "completed"

    # By rules

    def _ways_by_rule(self, rule: Rule, route: RulePass) -> Iterator[WayOut]:
        yield from self._gate_arrivals(
            tuple((key, tuple(sorted(route.words.items()))) for key in rule.gates), route
        )
        for gate in self.routes.gates_where_person_can_be_asked(rule, route):
            yield from self._ways_by_votes_against(gate, route, rule)
        for gate in map(self.line.gate, rule.gates):
            if self.routes.may_checks_ask_for(gate, route, "abort"):
                yield from self._ways_to("failed", "gate", route, rule, at=gate.key)
        words = self.routes.words_with_rule_approvals(rule, route)
        for target in rule.to:
            if target != BLOCKED:
                yield from self._ways_to(target, "rule", route, rule, words)
        if rule.exhausted_to:
            yield from self._ways_to(rule.exhausted_to, "exhausted", route, rule)

    # At gates

    def _ways_by_station_gate(self) -> Iterator[WayOut]:
        """List what its gate leads to of itself; what goes on from it are routes."""
        if self.gate is None:
            return
        for route in self.routes.station_gate_routes():
            yield from self._gate_arrivals(((self.gate.key, ()),), route)
            back = route.without_passing()
            if self.routes.can_be_asked_at_station(route):
                yield from self._ways_by_votes_against(self.gate, back, None)
            if not route.people_only and self.routes.may_checks_ask_for(self.gate, route, "abort"):
                yield from self._ways_to("failed", "gate", back, at=self.gate.key)

    def _ways_by_votes_against(self, gate: Gate, route: RulePass, rule: Rule | None) -> Iterator[WayOut]:
        """Words other than approve, of which the first in their order decides; at another gate of the rule one that
        comes later in that order may have been said, too."""
        others = (
            [
                other
                for other in self.routes.gates_where_person_can_be_asked(rule, route)
                if other.key != gate.key
            ]
            if rule
            else []
        )
        for word in gate.offers:
            later = RANK[RANK.index(word) :] if word in RANK else ()
            also = [{}, *({other.key: less} for other in others for less in later if less in other.offers)]
            for target in self._targets_of_vote(gate, word):
                for more in also:
                    words = {**route.words, **more, gate.key: word}
                    yield from self._ways_to(target, "gate", route, rule, words, gate.key)

    def _targets_of_vote(self, gate: Gate, word: str) -> tuple[str, ...]:
        if word == ABORT:
            return ("failed",)
        if word == SEND_BACK:
            return (self.station.key,)
        if word != REJECT:
            return ()
        knob = gate.on_reject or self.line.policy.on_reject
        if knob == "reviewer_chooses":
            # The rejection names one of these, its own station among them (law §4).
            return ("failed", *self.line.stations_by_key)
        if knob == "fail":
            return ("failed",)
        return (self.station.key if knob == "rework" else knob.removeprefix("route:"),)

    # By the policy

    def _ways_by_policy(self, route: RulePass) -> Iterator[WayOut]:
        if route.seen.standing == FAILED:
            yield from self._ways_by_failure_policy(route)
        elif route.seen.standing == PASSED:
            target = policy_target_after_pass_or_none(self.line, self.station)
            if target is not None:
                yield from self._ways_to(target, "policy", route)

    def _ways_by_failure_policy(self, route: RulePass) -> Iterator[WayOut]:
        knob = self.line.policy.on_failure
        if knob == "halt":
            yield from self._ways_to("failed", "policy", route)
        elif knob.startswith("station:"):
            yield from self._ways_to(knob.removeprefix("station:"), "policy", route)

    # By signals

    def _ways_by_signals(self) -> Iterator[WayOut]:
        """Leave at once. A visit that a signal ends counts as one that did not pass, since one that reports a failure
        with it is ended so, too."""
        for outcome_state in (PASSED, FAILED, BLOCKED_STANDING):
            route = self.routes.route_of_reported_outcome(outcome_state)
            yield from self._ways_to("failed", "signal", route)
            yield from self._ways_to(self.station.key, "signal", route)
            for target in self.line.jump_targets:
                yield from self._ways_to(target, "jump", route)
            if self.line.jump_targets and self.line.asks_a_person:
                # The review of the jump itself: what is said there leads on as at any gate.
                yield from self._ways_by_votes_against(JUMP_GATE, route, None)
