"""Facts about every situation that can be, and the same situation before its outcome was forced."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.routing.analysis.regions import numbers
from pipelines.routing.analysis.regions.formulas import (
    EVAL,
    STATUS,
    Both,
    Either,
    Formula,
    Literal,
    eval_is,
    negation,
    status_in,
)
from pipelines.routing.analysis.regions.statuses import BLOCKED

COUPLED = Either((negation(status_in(frozenset([BLOCKED]))), eval_is("blocked")))
"""The forced blocked route, and nothing else, comes as blocked, blocked; its eval is "blocked"."""

AT_FIRST, BETWEEN = "at first", "between"
_COUNTS = numbers.compared("gte", 0)


def first(variable: tuple[str, ...]) -> tuple[str, ...]:
    return (*variable, AT_FIRST)


def at_first(formula: Formula, stage: str = AT_FIRST) -> Formula:
    """The same of the outcome before it was forced: only result, verdict and eval differ. `stage`: between two times
    that it was, too."""
    if isinstance(formula, Literal):
        if formula.variable in (STATUS, EVAL):
            return Literal((*formula.variable, stage), formula.yes, formula.no)
        return formula
    members = tuple(at_first(member, stage) for member in formula.members)
    return Both(members) if isinstance(formula, Both) else Either(members)


def counts(formulas: Iterable[Formula]) -> list[Formula]:
    """Edges are taken zero times or more."""
    by_variable = {}
    todo = list(formulas)
    while todo:
        formula = todo.pop()
        if not isinstance(formula, Literal):
            todo.extend(formula.members)
        elif formula.variable[0] == "edge":
            by_variable[formula.variable] = Literal(formula.variable, _COUNTS, numbers.NONE)
    return list(by_variable.values())
