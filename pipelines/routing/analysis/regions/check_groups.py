"""Groups of checks as formulas (law §6), over whatever their fields are variables of."""

from __future__ import annotations

from collections.abc import Callable

from pipelines.routing.analysis.regions import numbers, texts
from pipelines.routing.analysis.regions.evals import Evals
from pipelines.routing.analysis.regions.formulas import (
    EVAL,
    FALSE,
    TRUE,
    Both,
    Either,
    Formula,
    Literal,
    Variable,
    negation,
)
from pipelines.routing.basics.values import exact, is_number
from pipelines.routing.document.checks import COMPARED, RANK, Check, CheckGroup

Passes = Callable[[Check], Formula]
"""Where a check passes."""


def below(member: CheckGroup | Check, rank: int, passes: Passes) -> Formula:
    """Return where the member asks for less than this rank (checks.py, `_worst`)."""
    if isinstance(member, Check):
        return passes(member) if counts(member, rank) else TRUE
    every = Both(tuple(below(one, rank, passes) for one in member.counted))
    # A passed `any` group counts as nothing, a failed one as its worst member.
    return Either((_passing(member, passes), every)) if member.kind == "any" else every


def counts(check: Check, rank: int) -> bool:
    """Return whether a check that fails asks for this rank or a worse one."""
    return check.severity != "warn" and RANK.get(check.action, 0) >= rank


def _passing(member: CheckGroup | Check, passes: Passes) -> Formula:
    if isinstance(member, Check):
        return passes(member)
    every = tuple(_passing(one, passes) for one in member.counted)
    return Both(every) if member.kind == "all" else Either(every)


def eval_passes(op: str, check: Check, variable: Variable = EVAL) -> Formula:
    """An eval is always there; it compares by its number where the check's value is one, else as text. `op`: as
    conditions call it."""
    if op == "exists":
        return TRUE
    if op == "not_equals":
        return negation(eval_passes("equals", check, variable))
    value = check.value
    if is_number(value):
        if op == "equals":
            return _number(numbers.just(exact(value)), variable)
        return FALSE if op == "contains" else _number(numbers.compared(op, exact(value)), variable)
    if op == "equals":
        return _text(texts.listed(frozenset([value] if type(value) is str else [])), variable)
    if op == "in":
        words = texts.listed(frozenset(item for item in value if type(item) is str))
        listed = [exact(item) for item in value if is_number(item)]
        by_number = [_number(numbers.listed(listed), variable)] if listed else []
        return Either((_text(words, variable), *by_number))
    if type(value) is not str or op not in ("contains", "matches"):
        return FALSE
    return _text(texts.tested(op, value), variable)


def _number(numbers_in: numbers.NumberSet, variable: Variable) -> Formula:
    return Literal(variable, Evals(within=numbers_in), Evals(outside=numbers_in))


def _text(words: texts.Just, variable: Variable) -> Formula:
    return Literal(variable, Evals(words.yes), Evals(words.no))


def operator_of(check: Check) -> str:
    """Return the operator as conditions call it."""
    return COMPARED.get(check.operator, check.operator)
