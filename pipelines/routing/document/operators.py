"""The operators of `output` and `eval` conditions, as one table (law §3).

An operator takes the value that is there and the value that the rule names; missing values never get here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

import re2

from pipelines.routing.basics.bounds import MAX_PATTERN
from pipelines.routing.basics.schema_parts import TEXT, Schema, enum_schema
from pipelines.routing.basics.values import (
    TYPES,
    are_equal,
    contains_part,
    is_less,
    json_number_or_none,
    json_type,
)
from pipelines.routing.basics.wording import Wording as _

Test = Callable[[Any, Any], bool]
Takes = Literal["anything", "text", "number", "pattern", "list", "type"]
REMEMBERED = 1_000
"""Patterns per process: a draft is read anew after every change of it."""


class OperandError(ValueError):
    """The value that a condition names cannot be used with its operator."""


@lru_cache(maxsize=REMEMBERED)
def compile_pattern(pattern: str) -> Any:
    """RE2, the dialect of engine and analysis. Raises OperandError."""
    if len(pattern) > MAX_PATTERN:
        raise OperandError(_("the pattern is longer than %(most)s characters", most=MAX_PATTERN))
    options = re2.Options()
    # Otherwise RE2 writes each faulty pattern to standard error.
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        # The wrapper hands on RE2's message as bytes.
        reason = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else error
        raise OperandError(_("not an RE2 pattern: %(reason)s", reason=reason)) from None


def parse_least_and_most(text: Any) -> tuple[Any, Any]:
    """`"min,max"`, inclusive, spaces allowed. Raises OperandError if malformed or min > max."""
    bounds = [json_number_or_none(part) for part in text.split(",")] if type(text) is str else []
    if len(bounds) != 2 or None in bounds:
        raise OperandError('a range is two numbers in one text, like "200,299"')
    if is_less(bounds[1], bounds[0]):
        raise OperandError("the range ends before it begins")
    return bounds[0], bounds[1]


def _starts_with(value: Any, start: Any) -> bool:
    return type(value) is str and type(start) is str and value.startswith(start)


def _ends_with(value: Any, end: Any) -> bool:
    return type(value) is str and type(end) is str and value.endswith(end)


def _at_least(value: Any, least: Any) -> bool:
    # `equal` alone would make “a” at least “a”; order is for numbers (law §3).
    return is_less(least, value) or _both_equal_numbers(value, least)


def _both_equal_numbers(left: Any, right: Any) -> bool:
    return json_type(left) == json_type(right) == "number" and are_equal(left, right)


def _at_most(value: Any, most: Any) -> bool:
    return is_less(value, most) or _both_equal_numbers(value, most)


def _is_member(value: Any, members: Any) -> bool:
    return any(are_equal(value, member) for member in members)


def _matches_pattern(value: Any, pattern: Any) -> bool:
    # As bytes, or RE2's wrapper counts characters for a span that nobody asks for.
    return type(value) is str and pattern.search(value.encode()) is not None


def _negated_test(operator: Test) -> Test:
    return lambda value, operand: not operator(value, operand)


@dataclass(frozen=True, slots=True)
class Operator:
    """Everything that is known of one. `holds(there, named)`; `words` for people and `sign`
    where there is no room for them, "" where none is shorter. `takes`: what a condition names; see `TAKEN`. `evals`:
    `eval` conditions know it, too.

    `pattern`: makes of the text that is named the RE2 pattern that finds the texts for which it is true; then it is
    true of nothing else. By it analysis knows the operator; of one that it does not know it assumes nothing."""

    holds: Test
    words: str
    sign: str = ""
    takes: Takes = "anything"
    evals: bool = False
    pattern: Callable[[str], str] | None = None


OUTPUT: Final[Mapping[str, Operator]] = {
    "equals": Operator(are_equal, "is", evals=True),
    "not_equals": Operator(_negated_test(are_equal), "is not", evals=True),
    "contains": Operator(contains_part, "contains", evals=True),
    "not_contains": Operator(_negated_test(contains_part), "does not contain", evals=True),
    "starts_with": Operator(_starts_with, "starts with", takes="text", evals=True),
    "ends_with": Operator(_ends_with, "ends with", takes="text", evals=True),
    "gt": Operator(
        lambda value, operand: is_less(operand, value), "is greater than", ">", "number", evals=True
    ),
    "gte": Operator(_at_least, "is at least", "≥", "number", evals=True),
    "lt": Operator(is_less, "is less than", "<", "number", evals=True),
    "lte": Operator(_at_most, "is at most", "≤", "number", evals=True),
    "matches": Operator(_matches_pattern, "matches", takes="pattern"),
    "in": Operator(_is_member, "is one of", takes="list"),
    "not_in": Operator(_negated_test(_is_member), "is none of", takes="list"),
    "type": Operator(lambda value, name: json_type(value) == name, "has the type", takes="type"),
}
COMMON: Final[Mapping[str, Operator]] = {key: operator for key, operator in OUTPUT.items() if operator.evals}
ORDERED: Final = tuple(key for key, operator in OUTPUT.items() if operator.takes == "number")
ALONE: Final[Mapping[str, str]] = {"exists": "is there", "missing": "is missing"}
"""What an `output` condition knows besides, without a value, with its words."""
RANGE: Final = "is between"
"""What an `eval` condition knows besides: `range`."""
WORDS: Final[Mapping[str, str]] = {
    **{key: operator.words for key, operator in OUTPUT.items()},
    **ALONE,
    "range": RANGE,
}
"""Of everything that compares."""


def operand_kind(operator: Any) -> str:
    """Return the kind of value of a condition with this operator; any, where the operator is none."""
    output_operator = OUTPUT.get(operator) if type(operator) is str else None
    return output_operator.takes if output_operator else "anything"


def _prepare_pattern(value: Any) -> Any:
    if type(value) is not str:
        raise OperandError("a pattern is a text")
    return compile_pattern(value)


def _prepare_list(value: Any) -> Any:
    if type(value) is not list:
        raise OperandError("wants a list")
    return value


def _type_name_or_operand_error(value: Any) -> Any:
    if type(value) is not str or value not in TYPES:
        raise OperandError(_("is one of %(known)s", known=", ".join(TYPES)))
    return value


OPERAND_TYPES: Final[Mapping[str, tuple[Callable[[Any], Any], Schema]]] = {
    "pattern": (_prepare_pattern, TEXT),
    "list": (_prepare_list, {"type": "array"}),
    "type": (_type_name_or_operand_error, enum_schema(TYPES)),
}
"""What is not everything that JSON can say: how it is prepared, and its schema. Texts and numbers only guide who types:
of any other value the operator is false."""


def prepare_operand(operator: str, value: Any) -> Any:
    """The value as the operator wants it: a pattern compiled, the rest as it is. Raises OperandError."""
    operand_type = OPERAND_TYPES.get(operand_kind(operator))
    return operand_type[0](value) if operand_type else value
