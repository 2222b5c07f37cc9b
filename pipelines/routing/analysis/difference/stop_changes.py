"""Situations that stop one version before any rule matches, and the other elsewhere or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipelines.routing.analysis.difference import unsettled_conditions
from pipelines.routing.analysis.difference.change import (
    Both,
    Change,
    StationPair,
    change_with_sample_or_reason,
)
from pipelines.routing.analysis.difference.partition import (
    canonical_condition_json,
    rules_above_first_faulty,
    rules_reached_formula_or_none_if_all_reach,
)
from pipelines.routing.analysis.difference.rework import rework_facts, rework_rule_pairs
from pipelines.routing.analysis.difference.samples import Situation, situation_with_merged_facts
from pipelines.routing.analysis.satisfiability import formulas
from pipelines.routing.analysis.satisfiability.formulas import FALSE, TRUE, Formula, negated_formula
from pipelines.routing.analysis.satisfiability.situation_bounds import formula_at_stage
from pipelines.routing.analysis.satisfiability.solver import Box
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import Rule

Stops = dict[unsettled_conditions.Stop, Formula]


def stop_changes(sides: StationPair) -> Iterator[Change]:
    """Yield the changes between two versions that test different conditions, or in another order; none where
    both test the same."""
    old, new = rules_above_first_faulty(sides.old.rules), rules_above_first_faulty(sides.new.rules)
    knobs = {line.policy.failure_rules for line in (sides.pair.old, sides.pair.new)}
    if len(knobs) == 1 and list(map(canonical_condition_json, old)) == list(
        map(canonical_condition_json, new)
    ):
        return
    yield from _changes_of_reached_stops(sides, old, new, None)
    for after in rework_rule_pairs(sides, old, new):
        yield from _changes_of_reached_stops(
            sides, _rules_without(old, after[0]), _rules_without(new, after[1]), after
        )


def _changes_of_reached_stops(
    sides: StationPair, old_rules: Sequence[Rule], new_rules: Sequence[Rule], after: Both | None
) -> Iterator[Change]:
    before, now = (
        _reached_stop_formulas(sides.pair.old, old_rules),
        _reached_stop_formulas(sides.pair.new, new_rules),
    )
    for stop in {**before, **now}:
        here, there = before.get(stop, FALSE), now.get(stop, FALSE)
        # One change for each stop, whichever version it is that stops.
        change = _change_where_only_here_stops_or_none(
            sides, stop, here, there, after
        ) or _change_where_only_here_stops_or_none(sides, stop, there, here, after)
        if change is not None:
            yield change


def _reached_stop_formulas(line: ParsedLine, rules: Sequence[Rule]) -> Stops:
    reached = rules_reached_formula_or_none_if_all_reach(line) or TRUE
    return {
        stop: formulas.Conjunction((where, reached))
        for stop, where in unsettled_conditions.formula_by_stop(rules).items()
    }


def _change_where_only_here_stops_or_none(
    sides: StationPair, stop: str, here: Formula, there: Formula, after: Both | None
) -> Change | None:
    """A situation that `stop` stops `here` and not `there`."""
    word = "unreadable" if stop == unsettled_conditions.UNREADABLE else "asks"
    conditions = [here, negated_formula(there), unsettled_conditions.SENSIBLE]
    if after is not None:
        conditions += map(formula_at_stage, _first_match_formulas(sides, after))

    def unsettled_variants(situation: Situation, box: Box) -> Iterator[Situation]:
        readability = box.get(unsettled_conditions.READABLE)
        variant = unsettled_conditions.unsettled_situation(
            situation, readability is None or readability.contains(True)
        )
        yield situation_with_merged_facts(variant, rework_facts(sides, after)) if after else variant

    return change_with_sample_or_reason(
        sides, sides.build_change(None, None, (word,), after), conditions, unsettled_variants
    )


def _first_match_formulas(sides: StationPair, after: Both) -> Iterator[Formula]:
    """The two rules are the matches of the first walks, whatever is readable or answered."""
    for rule, rules in zip(after, (sides.old.rules, sides.new.rules), strict=True):
        yield unsettled_conditions.partition_condition(rule.when).true
        yield from (
            unsettled_conditions.partition_condition(other.when).false for other in rules[: rules.index(rule)]
        )


def _rules_without(rules: Sequence[Rule], left_out: Rule) -> list[Rule]:
    return [rule for rule in rules if rule is not left_out]
