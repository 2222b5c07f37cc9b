"""Conditions that cannot be settled yet, because the output is not JSON or an evaluation is not answered.

Such a condition is true or false, or stops the decision at the first operand that it reaches. So the order of
operands counts here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.routing.analysis.satisfiability import choices
from pipelines.routing.analysis.satisfiability.formulas import (
    FALSE,
    TRUE,
    Conjunction,
    Disjunction,
    Formula,
    Literal,
    condition_formula,
    negated_formula,
    status_literal,
)
from pipelines.routing.analysis.satisfiability.statuses import BLOCKED
from pipelines.routing.document.algebra import (
    All,
    AnswerTest,
    AnyOf,
    Condition,
    Not,
    OutputTest,
    condition_leaf_tests,
)
from pipelines.routing.document.evaluations import WORDS
from pipelines.routing.document.rules import Rule

READABLE = ("readable",)
UNREADABLE = "unreadable"
NOT_YET = ""
"""The word of an evaluation that nobody has answered."""

Stop = str
"""What stops a decision: UNREADABLE, or the key of the evaluation that is asked."""


@dataclass(frozen=True, slots=True)
class ConditionPartition:
    """Partition of all situations by one condition: where it is true, where it is false, and where it stops the
    decision, by what stops it. The parts do not overlap."""

    true: Formula
    false: Formula
    stops: dict[Stop, Formula]


def _readable_literal(is_readable: bool) -> Literal:
    return Literal(READABLE, choices.choice_among(is_readable), choices.choice_among(not is_readable))


SENSIBLE = Disjunction((_readable_literal(True), negated_formula(status_literal(frozenset([BLOCKED])))))
"""On the forced blocked route output that is not JSON counts as none."""


def can_condition_stop_decision(condition: Condition) -> bool:
    """Return whether the condition reads the output or an evaluation, so that it can stop a decision."""
    return any(isinstance(leaf, (OutputTest, AnswerTest)) for leaf in condition_leaf_tests(condition))


def partition_condition(condition: Condition) -> ConditionPartition:
    if not can_condition_stop_decision(condition):
        formula = condition_formula(condition)
        return ConditionPartition(formula, negated_formula(formula), {})
    if isinstance(condition, Not):
        inner = partition_condition(condition.inner)
        return ConditionPartition(inner.false, inner.true, inner.stops)
    if isinstance(condition, All):
        return _partition_in_order([partition_condition(member) for member in condition.members])
    if isinstance(condition, AnyOf):
        members = [partition_condition(member) for member in condition.members]
        # De Morgan: `any` goes on while a member is false, as `all` does while one is true.
        negated = _partition_in_order(
            [ConditionPartition(member.false, member.true, member.stops) for member in members]
        )
        return ConditionPartition(negated.false, negated.true, negated.stops)
    return (
        _partition_by_answer(condition)
        if isinstance(condition, AnswerTest)
        else _partition_by_readable_output(condition)
    )


def _partition_in_order(members: list[ConditionPartition]) -> ConditionPartition:
    """Combine all members, from the left, until one is false or stops."""
    before: tuple[Formula, ...] = ()
    false: list[Formula] = []
    stops: dict[Stop, list[Formula]] = {}
    for member in members:
        false.append(Conjunction((*before, member.false)))
        # A member stops only where those before it were true: otherwise it is never asked
        for stop, formula in member.stops.items():
            stops.setdefault(stop, []).append(Conjunction((*before, formula)))
        before = (*before, member.true)
    return ConditionPartition(
        Conjunction(before), Disjunction(tuple(false)), {k: Disjunction(tuple(v)) for k, v in stops.items()}
    )


def _partition_by_readable_output(condition: Condition) -> ConditionPartition:
    formula, readable = condition_formula(condition), _readable_literal(True)
    return ConditionPartition(
        Conjunction((readable, formula)),
        Conjunction((readable, negated_formula(formula))),
        {UNREADABLE: _readable_literal(False)},
    )


def _partition_by_answer(condition: AnswerTest) -> ConditionPartition:
    evaluation = condition.evaluation
    variable, every = ("answer", evaluation.key), frozenset([*WORDS[evaluation.kind], NOT_YET])

    def words_literal(words: frozenset[str]) -> Literal:
        return Literal(variable, choices.ValueChoice(words), choices.ValueChoice(every - words))

    yes = frozenset([condition.answer])
    return ConditionPartition(
        words_literal(yes),
        words_literal(every - yes - {NOT_YET}),
        {evaluation.key: words_literal(frozenset([NOT_YET]))},
    )


def formula_by_stop(rules: Sequence[Rule]) -> dict[Stop, Formula]:
    """Return where the rules, tested in order, are stopped, by what stops them."""
    before: tuple[Formula, ...] = ()
    by_stop: dict[Stop, list[Formula]] = {}
    for rule in rules:
        settled = partition_condition(rule.when)
        for stop, formula in settled.stops.items():
            by_stop.setdefault(stop, []).append(Conjunction((*before, formula)))
        if settled.false == FALSE:
            # No situation gets past this rule.
            break
        before = (*before, settled.false) if settled.false != TRUE else before
    return {stop: Disjunction(tuple(formulas)) for stop, formulas in by_stop.items()}


def unsettled_situation(situation: dict[str, Any], is_readable: bool) -> dict[str, Any]:
    """Return the situation without its unanswered evaluations and, unless `is_readable`, with output that is
    not JSON."""
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
