"""§3: equality, order and contains on JSON values."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import re2

Json = Any

JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def number(value: Json) -> Decimal | None:
    """The exact decimal of a JSON number, None for anything else (a boolean is no number)."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def number_in(text: str) -> Decimal | None:
    """ "An eval counts as a number if, stripped of white space, it is a JSON number." """
    stripped = text.strip()
    return Decimal(stripped) if JSON_NUMBER.fullmatch(stripped) else None


def json_type(value: Json) -> str:
    """ "`type`: null, boolean, number, string, array, object." """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if number(value) is not None:
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Mapping) else "array"


def equal(left: Json, right: Json) -> bool:
    """ "Equality is strict by type: true ≠ "true", 0 ≠ false, 0 = 0.0; numbers compare as exact decimals,
    strings exactly (no trimming, case counts), lists and objects deeply." """
    kind = json_type(left)
    if kind != json_type(right):
        return False
    if kind == "number":
        return number(left) == number(right)
    if kind == "array":
        return len(left) == len(right) and all(equal(a, b) for a, b in zip(left, right, strict=True))
    if kind == "object":
        return set(left) == set(right) and all(equal(left[key], right[key]) for key in left)
    return bool(left == right)


ORDERS: dict[str, Callable[[Decimal, Decimal], bool]] = {
    "gt": lambda a, b: a > b,
    "gte": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "lte": lambda a, b: a <= b,
}


def ordered(op: str, left: Decimal | None, right: Decimal | None) -> bool:
    """ "Order is for numbers only, else false." """
    return left is not None and right is not None and ORDERS[op](left, right)


def contains(value: Json, wanted: Json) -> bool:
    """ "`contains`: substring of a string, element of a list." """
    if isinstance(value, str):
        return isinstance(wanted, str) and wanted in value
    if json_type(value) == "array":
        return any(equal(element, wanted) for element in value)
    return False


def holds_for(op: str, value: Json, wanted: Json) -> bool:
    """One op on one value that is there."""
    if op.startswith("not_"):  # "`not_…` of a value that is there is the plain negation."
        return not holds_for(op.removeprefix("not_"), value, wanted)
    if op in ORDERS:
        return ordered(op, number(value), number(wanted))
    return OPS[op](value, wanted)


def on_strings(test: Callable[[str, str], bool]) -> Callable[[Json, Json], bool]:
    """ "`starts_with`, `ends_with`, `matches` (RE2, searches anywhere): strings." """
    return lambda value, wanted: isinstance(value, str) and isinstance(wanted, str) and test(value, wanted)


OPS: dict[str, Callable[[Json, Json], bool]] = {
    "exists": lambda value, wanted: True,
    "missing": lambda value, wanted: False,
    "equals": equal,
    "contains": contains,
    "in": lambda value, wanted: any(equal(value, element) for element in wanted),
    "type": lambda value, wanted: json_type(value) == wanted,
    "starts_with": on_strings(str.startswith),
    "ends_with": on_strings(str.endswith),
    "matches": on_strings(lambda value, pattern: re2.search(pattern, value) is not None),
}
