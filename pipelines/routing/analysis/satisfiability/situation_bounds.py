"""Facts about every situation that can be, and the same situation before its outcome was forced."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.routing.analysis.satisfiability import numbers
from pipelines.routing.analysis.satisfiability.formulas import (
    EVAL,
    STATUS,
    Conjunction,
    Disjunction,
    Formula,
    Literal,
    eval_literal,
    negated_formula,
    status_literal,
)
from pipelines.routing.analysis.satisfiability.statuses import BLOCKED

COUPLED = Disjunction((negated_formula(status_literal(frozenset([BLOCKED]))), eval_literal("blocked")))
"""The forced blocked route, and nothing else, comes as blocked, blocked; its eval is "blocked"."""

AT_FIRST, BETWEEN = "at first", "between"
_COUNTS = numbers.comparison_set("gte", 0)


def variable_at_first_stage(variable: tuple[str, ...]) -> tuple[str, ...]:
    return (*variable, AT_FIRST)


def formula_at_stage(formula: Formula, stage: str = AT_FIRST) -> Formula:
    """The same of the outcome before it was forced: only result, verdict and eval differ. `stage`: between two times
    that it was, too."""
    if isinstance(formula, Literal):
        if formula.variable in (STATUS, EVAL):
            return Literal((*formula.variable, stage), formula.yes, formula.no)
        return formula
    members = tuple(formula_at_stage(member, stage) for member in formula.members)
    return Conjunction(members) if isinstance(formula, Conjunction) else Disjunction(members)


def edge_count_bounds(formulas: Iterable[Formula]) -> list[Formula]:
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
