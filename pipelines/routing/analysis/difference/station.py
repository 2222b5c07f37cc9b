"""The difference at one station that both versions have: each region of situations that is decided otherwise.

The situations are cut by (what takes them before) × (what takes them now). A region whose two effects differ is
shown by a situation that `decide` was run on in both versions, or proved to be empty, or said to be unknown.

After a gate of a rule has demanded rework, the rules are tested again as failure/fail/error without that rule:
those second walks are cut in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pipelines.routing.analysis.difference import effects, stops
from pipelines.routing.analysis.difference.change import Both, Change, Sides, searched
from pipelines.routing.analysis.difference.effects import Pair
from pipelines.routing.analysis.difference.partition import OutcomeRegion, cells, may_fail, readable, text_of
from pipelines.routing.analysis.difference.rework import demanded, only_gate, pairs_demanding
from pipelines.routing.analysis.difference.samples import Situation, variants, with_facts
from pipelines.routing.analysis.regions.effort import at_most
from pipelines.routing.analysis.regions.formulas import Formula
from pipelines.routing.analysis.regions.possible import at_first
from pipelines.routing.analysis.regions.situations import TestedSituation, walked
from pipelines.routing.analysis.regions.solver import Box
from pipelines.routing.analysis.regions.statuses import STANDINGS
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.stations import Station

WORK = 6_000_000
"""Units of `regions.effort` for one station."""

Claim = Callable[[ParsedLine, TestedSituation], bool]
"""Whether a walk of `decide` in this version is the one that is claimed of the region."""


def changes(pair: Pair, key: str, units: int = WORK) -> tuple[tuple[Change, ...], int]:
    """Return the changes in the order of the rules of the new version, and what it cost. Bounded: beyond
    `units` it says unknown."""
    sides = Sides(pair, pair.old.station(key), pair.new.station(key))
    if signature(pair.old, sides.old) == signature(pair.new, sides.new):
        return (), 0
    allowed = min(units, WORK)
    with at_most(allowed) as meter:
        # A tuple: generators would do their work outside of the bound.
        detected = (*_regions(sides), *_second_walks(sides), *stops.changes(sides))
    return detected, allowed - max(meter.left, 0)


def signature(line: ParsedLine, station: Station) -> tuple[Any, ...]:
    """Equal where nothing can differ: conditions as written, and effects, in order; then the policy."""
    rules = readable(station.rules)
    rule_effects = [(text_of(rule), effects.of_rule(line, station, rule).as_written()) for rule in rules]
    rest = [effects.of_policy(line, station, outcome_state) for outcome_state in STANDINGS]
    return (*rule_effects, len(rules) < len(station.rules), *rest, line.policy.failure_rules)


def _regions(sides: Sides) -> Iterator[Change]:
    before = cells(sides.pair.old, sides.old)
    now = cells(sides.pair.new, sides.new)
    for old, new in _differing(before, now):

        def claim(
            line: ParsedLine, walk: TestedSituation, old: OutcomeRegion = old, new: OutcomeRegion = new
        ) -> bool:
            return _takes(line, walk, old if line is sides.pair.old else new)

        yield from _found(sides, old, new, (), claim)


def _second_walks(sides: Sides) -> Iterator[Change]:
    first = {
        (line is sides.pair.new, cell.rule.id): cell
        for line, station in ((sides.pair.old, sides.old), (sides.pair.new, sides.new))
        for cell in cells(line, station)
        if cell.rule
    }
    for after in pairs_demanding(sides, readable(sides.old.rules), readable(sides.new.rules)):
        first_cells = (first.get((False, after[0].id)), first.get((True, after[1].id)))
        if first_cells[0] and first_cells[1] and not first_cells[0].excludes(first_cells[1]):
            yield from _after_rework(sides, after, first_cells[0], first_cells[1])


def _after_rework(
    sides: Sides, after: Both, first_old: OutcomeRegion, first_new: OutcomeRegion
) -> Iterator[Change]:
    first_formulas = [at_first(formula) for formula in (first_old.holds | first_new.holds).values()]
    rework_gate = only_gate(sides, after)
    before = cells(sides.pair.old, sides.old, after[0], rework_gate)
    now = cells(sides.pair.new, sides.new, after[1], rework_gate)
    for old, new in _differing(before, now):

        def claim(
            line: ParsedLine, walk: TestedSituation, old: OutcomeRegion = old, new: OutcomeRegion = new
        ) -> bool:
            cell, rule = (old, after[0]) if line is sides.pair.old else (new, after[1])
            matched = (rule.id, *((cell.rule.id,) if cell.rule else ()))
            return walk.matches[: len(matched)] == matched

        yield from _found(sides, old, new, first_formulas, claim, after)


def _differing(
    before: list[OutcomeRegion], now: list[OutcomeRegion]
) -> Iterator[tuple[OutcomeRegion, OutcomeRegion]]:
    for new in now:
        yield from (
            (old, new) for old in before if old.effect.differs_in(new.effect) and not old.excludes(new)
        )


def _found(
    sides: Sides, old: OutcomeRegion, new: OutcomeRegion, more: Any, claim: Claim, after: Both | None = None
) -> Iterator[Change]:
    formulas: list[Formula] = [*more, *(old.holds | new.holds).values()]
    failing = may_fail(old, new)
    formulas += [failing] if failing is not None else []

    def claimed(situation: Situation, box: Box) -> Iterator[Situation]:
        for variant in variants(sides.pair, situation, old.rule, new.rule):
            candidate = with_facts(variant, demanded(sides, after)) if after else variant
            if all(_holds(claim, line, candidate) for line in (sides.pair.old, sides.pair.new)):
                yield candidate

    change = sides.change(old.rule, new.rule, old.effect.differs_in(new.effect), after)
    sampled = searched(sides, change, formulas, claimed)
    if sampled is not None:
        yield sampled


def _holds(claim: Claim, line: ParsedLine, situation: Situation) -> bool:
    """Walk the rules and ask the claim. What a path with wildcards made up may be no situation at all."""
    try:
        return claim(line, walked(line, situation, read_situation(situation)))
    except Malformed:
        return False


def _takes(line: ParsedLine, walk: TestedSituation, cell: OutcomeRegion) -> bool:
    """Return whether the first walk through the rules ended in this cell."""
    if cell.rule is not None:
        return walk.matches[:1] == (cell.rule.id,)
    if not cell.standing:
        return not walk.matches
    return not walk.tested or walk.none_of(readable(line.station(walk.situation["station"]).rules))
