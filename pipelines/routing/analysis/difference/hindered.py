"""Conditions that cannot be settled yet: output that is not JSON, an evaluation that nobody has answered.

A condition is then true, false, or it stops the decision, by the first operand that is reached in the way. So the
order of operands counts here, as nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.routing.analysis.regions import choices
from pipelines.routing.analysis.regions.formulas import (
    FALSE,
    TRUE,
    Both,
    Either,
    Formula,
    Literal,
    formula_of,
    negation,
    status_in,
)
from pipelines.routing.analysis.regions.statuses import BLOCKED
from pipelines.routing.document.algebra import All, Answered, AnyOf, Condition, Not, OutputTest, leaves
from pipelines.routing.document.evaluations import WORDS
from pipelines.routing.document.rules import Rule

READABLE = ("readable",)
UNREADABLE = "unreadable"
NOT_YET = ""
"""The word of an evaluation that nobody has answered."""

Stop = str
"""What stops a decision: UNREADABLE, or the key of the evaluation that is asked."""


@dataclass(frozen=True, slots=True)
class Three:
    """Partition of everything: where a condition is true, where it is false, and where each thing stops it;
    nothing twice."""

    true: Formula
    false: Formula
    stops: dict[Stop, Formula]


def _readable(is_readable: bool) -> Literal:
    return Literal(READABLE, choices.only(is_readable), choices.only(not is_readable))


SENSIBLE = Either((_readable(True), negation(status_in(frozenset([BLOCKED])))))
"""On the forced blocked route output that is not JSON counts as none."""


def hinders(condition: Condition) -> bool:
    """Return whether a condition reads the output or an evaluation at all."""
    return any(isinstance(leaf, (OutputTest, Answered)) for leaf in leaves(condition))


def three(condition: Condition) -> Three:
    if not hinders(condition):
        formula = formula_of(condition)
        return Three(formula, negation(formula), {})
    if isinstance(condition, Not):
        inner = three(condition.inner)
        return Three(inner.false, inner.true, inner.stops)
    if isinstance(condition, All):
        return _in_order([three(member) for member in condition.members])
    if isinstance(condition, AnyOf):
        members = [three(member) for member in condition.members]
        # De Morgan: `any` goes on while a member is false, as `all` does while one is true.
        negated = _in_order([Three(member.false, member.true, member.stops) for member in members])
        return Three(negated.false, negated.true, negated.stops)
    return _answered(condition) if isinstance(condition, Answered) else _output(condition)


def _in_order(members: list[Three]) -> Three:
    """Combine all members, from the left, until one is false or stops."""
    before: tuple[Formula, ...] = ()
    false: list[Formula] = []
    stops: dict[Stop, list[Formula]] = {}
    for member in members:
        false.append(Both((*before, member.false)))
        for stop, formula in member.stops.items():
            stops.setdefault(stop, []).append(Both((*before, formula)))
        before = (*before, member.true)
    return Three(Both(before), Either(tuple(false)), {k: Either(tuple(v)) for k, v in stops.items()})


def _output(condition: Condition) -> Three:
    formula, readable = formula_of(condition), _readable(True)
    return Three(
        Both((readable, formula)), Both((readable, negation(formula))), {UNREADABLE: _readable(False)}
    )


def _answered(condition: Answered) -> Three:
    evaluation = condition.evaluation
    variable, every = ("answer", evaluation.key), frozenset([*WORDS[evaluation.kind], NOT_YET])

    def said(words: frozenset[str]) -> Literal:
        return Literal(variable, choices.ValueChoice(words), choices.ValueChoice(every - words))

    yes = frozenset([condition.answer])
    return Three(said(yes), said(every - yes - {NOT_YET}), {evaluation.key: said(frozenset([NOT_YET]))})


def stops(rules: Sequence[Rule]) -> dict[Stop, Formula]:
    """Return where the rules, tested in order, are stopped, by what stops them."""
    before: tuple[Formula, ...] = ()
    by_stop: dict[Stop, list[Formula]] = {}
    for rule in rules:
        settled = three(rule.when)
        for stop, formula in settled.stops.items():
            by_stop.setdefault(stop, []).append(Both((*before, formula)))
        if settled.false == FALSE:
            # No situation gets past this rule.
            break
        before = (*before, settled.false) if settled.false != TRUE else before
    return {stop: Either(tuple(formulas)) for stop, formulas in by_stop.items()}


def hindered(situation: dict[str, Any], is_readable: bool) -> dict[str, Any]:
    """The situation with the answers that nobody has given taken out, and the output made unreadable."""
    facts = dict(situation.get("facts", {}))
    facts["answers"] = [answer for answer in facts.get("answers", ()) if answer["answer"] != NOT_YET]
    outcome = dict(situation["outcome"])
    if not is_readable:
        outcome.pop("output", None)
        outcome["output_error"] = "not JSON"
    remaining = {key: value for key, value in facts.items() if value}
    return {
        "station": situation["station"],
        "outcome": outcome,
        **({"facts": remaining} if remaining else {}),
    }
