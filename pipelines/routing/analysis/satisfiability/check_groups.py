"""Groups of checks as formulas (law §6), over whatever their fields are variables of."""

from __future__ import annotations

from collections.abc import Callable

from pipelines.routing.analysis.satisfiability import numbers, texts
from pipelines.routing.analysis.satisfiability.evals import EvalSet
from pipelines.routing.analysis.satisfiability.formulas import (
    EVAL,
    FALSE,
    TRUE,
    Conjunction,
    Disjunction,
    Formula,
    Literal,
    Variable,
    negated_formula,
)
from pipelines.routing.basics.values import exact_number, is_number
from pipelines.routing.document.checks import COMPARED, RANK, Check, CheckGroup

Passes = Callable[[Check], Formula]
"""Where a check passes."""


def below_rank_formula(member: CheckGroup | Check, rank: int, passes: Passes) -> Formula:
    """Return where the member asks for less than this rank (checks.py, `_worst_rank`)."""
    if isinstance(member, Check):
        return passes(member) if does_failure_demand_rank(member, rank) else TRUE
    every = Conjunction(tuple(below_rank_formula(one, rank, passes) for one in member.counting_members))
    # A passed `any` group counts as nothing, a failed one as its worst member.
    return Disjunction((_member_passes_formula(member, passes), every)) if member.kind == "any" else every


def does_failure_demand_rank(check: Check, rank: int) -> bool:
    """Return whether a check that fails asks for this rank or a worse one."""
    return check.severity != "warn" and RANK.get(check.action, 0) >= rank


def _member_passes_formula(member: CheckGroup | Check, passes: Passes) -> Formula:
    if isinstance(member, Check):
        return passes(member)
    every = tuple(_member_passes_formula(one, passes) for one in member.counting_members)
    return Conjunction(every) if member.kind == "all" else Disjunction(every)


def eval_check_passes_formula(op: str, check: Check, variable: Variable = EVAL) -> Formula:
    """An eval is always there; it compares by its number where the check's value is one, else as text. `op`: as
    conditions call it."""
    if op == "exists":
        return TRUE
    if op == "not_equals":
        return negated_formula(eval_check_passes_formula("equals", check, variable))
    value = check.value
    if is_number(value):
        if op == "equals":
            return _eval_number_literal(numbers.single_number_set(exact_number(value)), variable)
        return (
            FALSE
            if op == "contains"
            else _eval_number_literal(numbers.comparison_set(op, exact_number(value)), variable)
        )
    if op == "equals":
        return _eval_text_literal(
            texts.text_sets_of_list(frozenset([value] if type(value) is str else [])), variable
        )
    if op == "in":
        words = texts.text_sets_of_list(frozenset(item for item in value if type(item) is str))
        listed = [exact_number(item) for item in value if is_number(item)]
        by_number = [_eval_number_literal(numbers.finite_set(listed), variable)] if listed else []
        return Disjunction((_eval_text_literal(words, variable), *by_number))
    if type(value) is not str or op not in ("contains", "matches"):
        return FALSE
    return _eval_text_literal(texts.true_and_false_text_sets(op, value), variable)


def _eval_number_literal(numbers_in: numbers.NumberSet, variable: Variable) -> Formula:
    return Literal(variable, EvalSet(within=numbers_in), EvalSet(outside=numbers_in))


def _eval_text_literal(words: texts.TextSetPair, variable: Variable) -> Formula:
    return Literal(variable, EvalSet(words.yes), EvalSet(words.no))


def operator_as_in_conditions(check: Check) -> str:
    """Return the operator as conditions call it."""
    return COMPARED.get(check.operator, check.operator)
