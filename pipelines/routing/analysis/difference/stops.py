"""Situations that stop one version before any rule matches, and the other elsewhere or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipelines.routing.analysis.difference import hindered
from pipelines.routing.analysis.difference.change import Both, Change, Sides, searched
from pipelines.routing.analysis.difference.partition import reaching, readable, text_of
from pipelines.routing.analysis.difference.rework import demanded, pairs_demanding
from pipelines.routing.analysis.difference.samples import Situation, with_facts
from pipelines.routing.analysis.regions import formulas
from pipelines.routing.analysis.regions.formulas import FALSE, TRUE, Formula, negation
from pipelines.routing.analysis.regions.possible import at_first
from pipelines.routing.analysis.regions.solver import Box
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import Rule

Stops = dict[hindered.Stop, Formula]


def changes(sides: Sides) -> Iterator[Change]:
    """Nothing where both test the same conditions in the same order."""
    old, new = readable(sides.old.rules), readable(sides.new.rules)
    knobs = {line.policy.failure_rules for line in (sides.pair.old, sides.pair.new)}
    if len(knobs) == 1 and list(map(text_of, old)) == list(map(text_of, new)):
        return
    yield from _between(sides, old, new, None)
    for after in pairs_demanding(sides, old, new):
        yield from _between(sides, _without(old, after[0]), _without(new, after[1]), after)


def _between(sides: Sides, old: Sequence[Rule], new: Sequence[Rule], after: Both | None) -> Iterator[Change]:
    before, now = _reached(sides.pair.old, old), _reached(sides.pair.new, new)
    for stop in {**before, **now}:
        here, there = before.get(stop, FALSE), now.get(stop, FALSE)
        # One change for each stop, whichever version it is that stops.
        change = _stopped(sides, stop, here, there, after) or _stopped(sides, stop, there, here, after)
        if change is not None:
            yield change


def _reached(line: ParsedLine, rules: Sequence[Rule]) -> Stops:
    reached = reaching(line) or TRUE
    return {stop: formulas.Both((where, reached)) for stop, where in hindered.stops(rules).items()}


def _stopped(sides: Sides, stop: str, here: Formula, there: Formula, after: Both | None) -> Change | None:
    """A situation that `stop` stops `here` and not `there`."""
    word = "unreadable" if stop == hindered.UNREADABLE else "asks"
    conditions = [here, negation(there), hindered.SENSIBLE]
    if after is not None:
        conditions += map(at_first, _taken_first(sides, after))

    def variants(situation: Situation, box: Box) -> Iterator[Situation]:
        readability = box.get(hindered.READABLE)
        variant = hindered.hindered(situation, readability is None or readability.holds(True))
        yield with_facts(variant, demanded(sides, after)) if after else variant

    return searched(sides, sides.change(None, None, (word,), after), conditions, variants)


def _taken_first(sides: Sides, after: Both) -> Iterator[Formula]:
    """The two rules are the matches of the first walks, whatever is readable or answered."""
    for rule, rules in zip(after, (sides.old.rules, sides.new.rules), strict=True):
        yield hindered.three(rule.when).true
        yield from (hindered.three(other.when).false for other in rules[: rules.index(rule)])


def _without(rules: Sequence[Rule], left_out: Rule) -> list[Rule]:
    return [rule for rule in rules if rule is not left_out]
