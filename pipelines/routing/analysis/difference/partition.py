"""The situations of a station, cut by what takes them: each rule its cell, and what no rule takes up to three."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pipelines.routing.analysis.difference import routing_effects
from pipelines.routing.analysis.difference.routing_effects import RoutingEffect
from pipelines.routing.analysis.satisfiability.formulas import (
    Disjunction,
    Formula,
    condition_formula,
    negated_formula,
    status_literal,
)
from pipelines.routing.analysis.satisfiability.statuses import FAILED, PASSED, STANDINGS
from pipelines.routing.basics.canonical import canonical_json
from pipelines.routing.document.algebra import OutputTest
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.paths import compile_path
from pipelines.routing.document.rules import Rule
from pipelines.routing.document.stations import Station

Facts = dict[tuple[str, bool], Formula]
"""What has to hold, by the condition's canonical text and whether it is true: each is asked once."""


@dataclass(frozen=True, slots=True)
class OutcomeRegion:
    """`rule` is None where none matches; `standing` then says which outcomes these are, "" a rule that is faulty."""

    effect: RoutingEffect
    holds: Facts
    rule: Rule | None = None
    standing: str = ""

    def excludes(self, other: OutcomeRegion) -> bool:
        """Return whether the regions exclude each other at a glance: what is true in the one is false in the
        other."""
        return any((key, not sign) in other.holds for key, sign in self.holds)


def canonical_condition_json(rule: Rule) -> str:
    """The condition as written, canonically; absent is `always`."""
    return canonical_json(rule.source.get("when", {"always": True})).decode()


def rules_above_first_faulty(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """The rules above the first faulty one: there a decision stops."""
    readable_rules: list[Rule] = []
    for rule in rules:
        if rule.fault:
            break
        readable_rules.append(rule)
    return tuple(readable_rules)


def station_regions(
    line: ParsedLine, station: Station, left_out: Rule | None = None, rework_gate: str = ""
) -> list[OutcomeRegion]:
    """Return all regions of a station, the rules in order.

    `left_out`: the rule whose gate demanded rework. `rework_gate`: the only gate that can have, by a
    person's vote: on the route that a vote demands that gate is passed.
    """
    rules = [rule for rule in station.rules if rule is not left_out]
    read = rules_above_first_faulty(rules)
    reached = rules_reached_formula_or_none_if_all_reach(line)
    before: Facts = {} if reached is None else {("reaches the rules", True): reached}
    regions = []
    for rule in read:
        own = (canonical_condition_json(rule), True)
        # A rule above with the same condition takes all that this one would.
        if (own[0], False) not in before:
            effect = routing_effects.rule_effect(line, station, rule)
            if rework_gate:
                effect = replace(effect, gates=tuple(gate for gate in effect.gates if gate[0] != rework_gate))
            regions.append(OutcomeRegion(effect, {**before, own: condition_formula(rule.when)}, rule))
        before = {**before, (own[0], False): negated_formula(condition_formula(rule.when))}
    # law §5 step 6: a faulty rule that is reached makes the task stuck.
    if len(read) < len(rules):
        return [
            *regions,
            OutcomeRegion(routing_effects.stuck_on_faulty_rule_effect(), before),
            *_failed_regions(line, station),
        ]
    return [*regions, *_unmatched_regions(line, station, before)]


def rules_reached_formula_or_none_if_all_reach(line: ParsedLine) -> Formula | None:
    """Return the formula of the outcomes that reach the rules; None: all do. Under `failure_rules: no` failed
    ones do not."""
    return None if line.policy.failure_rules else negated_formula(status_literal(FAILED))


def _failed_regions(line: ParsedLine, station: Station) -> list[OutcomeRegion]:
    if line.policy.failure_rules:
        return []
    facts: Facts = {("failed", True): status_literal(FAILED)}
    return [
        OutcomeRegion(
            routing_effects.policy_effect_if_no_rule_matches(line, station, "failed"), facts, None, "failed"
        )
    ]


def _unmatched_regions(line: ParsedLine, station: Station, before: Facts) -> list[OutcomeRegion]:
    regions = []
    for outcome_state, statuses in (
        ("passed", PASSED),
        ("failed", FAILED),
        ("blocked", STANDINGS["blocked"]),
    ):
        if outcome_state == "failed" and not line.policy.failure_rules:
            regions += _failed_regions(line, station)
            continue
        facts: Facts = {**before, (outcome_state, True): status_literal(statuses)}
        regions.append(
            OutcomeRegion(
                routing_effects.policy_effect_if_no_rule_matches(line, station, outcome_state),
                facts,
                None,
                outcome_state,
            )
        )
    return regions


def compose_failure_formula_or_none(old: OutcomeRegion, new: OutcomeRegion) -> Formula | None:
    """Return where `compose` fails, if what follows then is all that differs; None: that is no condition on
    the output."""
    if old.rule is None or new.rule is None or old.effect.differing_fields(new.effect) != ("compose",):
        return None
    entries = old.rule.compose
    if entries != new.rule.compose or any(entry.strategy for entry in entries):
        return None
    paths = [entry.path or compile_path("$") for entry in entries]
    return Disjunction(tuple(condition_formula(OutputTest(path, "missing")) for path in paths))
