"""The difference at one station that both versions have: each region of situations that is decided otherwise.

The situations are cut by (what takes them before) × (what takes them now). A region whose two effects differ is
shown by a situation that `decide` was run on in both versions, or proved to be empty, or said to be unknown.

After a gate of a rule has demanded rework, the rules are tested again as failure/fail/error without that rule:
those second walks are cut in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pipelines.routing.analysis.difference import routing_effects, stop_changes
from pipelines.routing.analysis.difference.change import (
    Both,
    Change,
    StationPair,
    change_with_sample_or_reason,
)
from pipelines.routing.analysis.difference.partition import (
    OutcomeRegion,
    canonical_condition_json,
    compose_failure_formula_or_none,
    rules_above_first_faulty,
    station_regions,
)
from pipelines.routing.analysis.difference.rework import (
    rework_facts,
    rework_rule_pairs,
    shared_rework_gate_or_empty,
)
from pipelines.routing.analysis.difference.routing_effects import LinePair
from pipelines.routing.analysis.difference.samples import (
    Situation,
    situation_with_merged_facts,
    situations_telling_rules_apart,
)
from pipelines.routing.analysis.satisfiability.effort import limiting_effort
from pipelines.routing.analysis.satisfiability.formulas import Formula
from pipelines.routing.analysis.satisfiability.situation_bounds import formula_at_stage
from pipelines.routing.analysis.satisfiability.situations import TestedSituation, walk_situation
from pipelines.routing.analysis.satisfiability.solver import Box
from pipelines.routing.analysis.satisfiability.statuses import STANDINGS
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.stations import Station

WORK = 6_000_000
"""Units of `satisfiability.effort` for one station."""

Claim = Callable[[ParsedLine, TestedSituation], bool]
"""Whether a walk of `decide` in this version is the one that is claimed of the region."""


def station_changes_and_cost(pair: LinePair, key: str, units: int = WORK) -> tuple[tuple[Change, ...], int]:
    """Return the changes in the order of the rules of the new version, and what it cost. Bounded: beyond
    `units` it says unknown."""
    sides = StationPair(pair, pair.old.station(key), pair.new.station(key))
    if station_signature(pair.old, sides.old) == station_signature(pair.new, sides.new):
        return (), 0
    allowed = min(units, WORK)
    with limiting_effort(allowed) as meter:
        # A tuple: generators would do their work outside of the bound.
        detected = (*_region_changes(sides), *_second_walk_changes(sides), *stop_changes.stop_changes(sides))
    return detected, allowed - max(meter.left, 0)


def station_signature(line: ParsedLine, station: Station) -> tuple[Any, ...]:
    """Equal where nothing can differ: conditions as written, and effects, in order; then the policy."""
    rules = rules_above_first_faulty(station.rules)
    rule_effects = [
        (
            canonical_condition_json(rule),
            routing_effects.rule_effect(line, station, rule).without_policy_revisit(),
        )
        for rule in rules
    ]
    rest = [
        routing_effects.policy_effect_if_no_rule_matches(line, station, outcome_state)
        for outcome_state in STANDINGS
    ]
    return (*rule_effects, len(rules) < len(station.rules), *rest, line.policy.failure_rules)


def _region_changes(sides: StationPair) -> Iterator[Change]:
    before = station_regions(sides.pair.old, sides.old)
    now = station_regions(sides.pair.new, sides.new)
    for old, new in _differing_pairs(before, now):

        def ends_in_region_of_its_version(
            line: ParsedLine, walk: TestedSituation, old: OutcomeRegion = old, new: OutcomeRegion = new
        ) -> bool:
            return _did_first_pass_end_in_region(line, walk, old if line is sides.pair.old else new)

        yield from _changes_between_regions(sides, old, new, (), ends_in_region_of_its_version)


def _second_walk_changes(sides: StationPair) -> Iterator[Change]:
    first = {
        (line is sides.pair.new, cell.rule.id): cell
        for line, station in ((sides.pair.old, sides.old), (sides.pair.new, sides.new))
        for cell in station_regions(line, station)
        if cell.rule
    }
    for after in rework_rule_pairs(
        sides, rules_above_first_faulty(sides.old.rules), rules_above_first_faulty(sides.new.rules)
    ):
        first_cells = (first.get((False, after[0].id)), first.get((True, after[1].id)))
        if first_cells[0] and first_cells[1] and not first_cells[0].excludes(first_cells[1]):
            yield from _changes_after_rework(sides, after, first_cells[0], first_cells[1])


def _changes_after_rework(
    sides: StationPair, after: Both, first_old: OutcomeRegion, first_new: OutcomeRegion
) -> Iterator[Change]:
    first_formulas = [formula_at_stage(formula) for formula in (first_old.holds | first_new.holds).values()]
    rework_gate = shared_rework_gate_or_empty(sides, after)
    before = station_regions(sides.pair.old, sides.old, after[0], rework_gate)
    now = station_regions(sides.pair.new, sides.new, after[1], rework_gate)
    for old, new in _differing_pairs(before, now):

        def matches_rules_of_its_version(
            line: ParsedLine, walk: TestedSituation, old: OutcomeRegion = old, new: OutcomeRegion = new
        ) -> bool:
            cell, rule = (old, after[0]) if line is sides.pair.old else (new, after[1])
            matched = (rule.id, *((cell.rule.id,) if cell.rule else ()))
            return walk.matches[: len(matched)] == matched

        yield from _changes_between_regions(
            sides, old, new, first_formulas, matches_rules_of_its_version, after
        )


def _differing_pairs(
    before: list[OutcomeRegion], now: list[OutcomeRegion]
) -> Iterator[tuple[OutcomeRegion, OutcomeRegion]]:
    for new in now:
        yield from (
            (old, new) for old in before if old.effect.differing_fields(new.effect) and not old.excludes(new)
        )


def _changes_between_regions(
    sides: StationPair,
    old: OutcomeRegion,
    new: OutcomeRegion,
    more: Any,
    claim: Claim,
    after: Both | None = None,
) -> Iterator[Change]:
    formulas: list[Formula] = [*more, *(old.holds | new.holds).values()]
    failing = compose_failure_formula_or_none(old, new)
    formulas += [failing] if failing is not None else []

    def claimed_variants(situation: Situation, box: Box) -> Iterator[Situation]:
        for variant in situations_telling_rules_apart(sides.pair, situation, old.rule, new.rule):
            candidate = situation_with_merged_facts(variant, rework_facts(sides, after)) if after else variant
            if all(_does_claim_hold(claim, line, candidate) for line in (sides.pair.old, sides.pair.new)):
                yield candidate

    change = sides.build_change(old.rule, new.rule, old.effect.differing_fields(new.effect), after)
    sampled = change_with_sample_or_reason(sides, change, formulas, claimed_variants)
    if sampled is not None:
        yield sampled


def _does_claim_hold(claim: Claim, line: ParsedLine, situation: Situation) -> bool:
    """Walk the rules and ask the claim. What a path with wildcards made up may be no situation at all."""
    try:
        return claim(line, walk_situation(line, situation, read_situation(situation)))
    except Malformed:
        return False


def _did_first_pass_end_in_region(line: ParsedLine, walk: TestedSituation, cell: OutcomeRegion) -> bool:
    """Return whether the first walk through the rules ended in this cell."""
    if cell.rule is not None:
        return walk.matches[:1] == (cell.rule.id,)
    if not cell.standing:
        return not walk.matches
    return not walk.tested or walk.matches_none_of(
        rules_above_first_faulty(line.station(walk.situation["station"]).rules)
    )
