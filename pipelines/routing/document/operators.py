"""The operators of `output` and `eval` conditions, as one table each (law §3).

An operator takes the value that is there and the value that the rule names; missing values never get here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import re2

from pipelines.routing.basics.bounds import MAX_PATTERN
from pipelines.routing.basics.values import TYPES, contains, equal, kind, less, number_in

Operator = Callable[[Any, Any], bool]
REMEMBERED = 1_000
"""Patterns per process: a draft is read anew after every change of it."""


class OperandError(ValueError):
    """The value that a condition names cannot be used with its operator."""


@lru_cache(maxsize=REMEMBERED)
def compile_pattern(pattern: str) -> Any:
    """RE2, the dialect of engine and analysis. Raises OperandError."""
    if len(pattern) > MAX_PATTERN:
        raise OperandError(f"the pattern is longer than {MAX_PATTERN} characters")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else error
        raise OperandError(f"not an RE2 pattern: {reason}") from None


def parse_range(text: Any) -> tuple[Any, Any]:
    """`"min,max"`, inclusive, spaces allowed. Raises OperandError if malformed or min > max."""
    bounds = [number_in(part) for part in text.split(",")] if type(text) is str else []
    if len(bounds) != 2 or None in bounds:
        raise OperandError('a range is two numbers in one text, like "200,299"')
    if less(bounds[1], bounds[0]):
        raise OperandError("the range ends before it begins")
    return bounds[0], bounds[1]


def _starts_with(value: Any, start: Any) -> bool:
    return type(value) is str and type(start) is str and value.startswith(start)


def _ends_with(value: Any, end: Any) -> bool:
    return type(value) is str and type(end) is str and value.endswith(end)


def _at_least(value: Any, least: Any) -> bool:
    return less(least, value) or _both_equal_numbers(value, least)


def _both_equal_numbers(left: Any, right: Any) -> bool:
    return kind(left) == kind(right) == "number" and equal(left, right)


def _at_most(value: Any, most: Any) -> bool:
    return less(value, most) or _both_equal_numbers(value, most)


def _in(value: Any, members: Any) -> bool:
    return any(equal(value, member) for member in members)


def _matches(value: Any, pattern: Any) -> bool:
    return type(value) is str and pattern.search(value) is not None


def _not(operator: Operator) -> Operator:
    return lambda value, operand: not operator(value, operand)


COMMON: dict[str, Operator] = {
    "equals": equal,
    "not_equals": _not(equal),
    "contains": contains,
    "not_contains": _not(contains),
    "starts_with": _starts_with,
    "ends_with": _ends_with,
    "gt": lambda value, operand: less(operand, value),
    "gte": _at_least,
    "lt": less,
    "lte": _at_most,
}

OUTPUT: dict[str, Operator] = {
    **COMMON,
    "matches": _matches,
    "in": _in,
    "not_in": _not(_in),
    "type": lambda value, name: kind(value) == name,
}
"""Besides these an `output` condition knows `exists` and `missing`, which take no value."""

ORDERED = ("gt", "gte", "lt", "lte")


def prepare(operator: str, value: Any) -> Any:
    """The value as the operator wants it: a pattern compiled, the rest as it is. Raises OperandError."""
    if operator == "matches":
        if type(value) is not str:
            raise OperandError("a pattern is a text")
        return compile_pattern(value)
    if operator in ("in", "not_in") and type(value) is not list:
        raise OperandError("wants a list")
    if operator == "type" and (type(value) is not str or value not in TYPES):
        raise OperandError(f"is one of {', '.join(TYPES)}")
    return value
