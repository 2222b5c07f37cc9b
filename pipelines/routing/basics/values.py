"""Plain JSON values, and how conditions compare them (law §3, Equality and Order).

A value is None, bool, int, float, Decimal, str, list or dict, of exactly these types. A float stands for the
decimal number that its shortest text says, so 0.1 is 0.1 and 1e23 is 10 ** 23.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from enum import Enum
from functools import lru_cache, reduce
from math import isfinite
from typing import Any, Final

from pipelines.routing.basics import jsontext
from pipelines.routing.basics.problems import Malformed, member_path
from pipelines.routing.basics.wording import Wording as _

MAX_DEPTH = 100
"""Deepest nesting of lists and objects in one value (law §2)."""

MAX_VALUES = 50_000
"""Values in one document, those inside others counted too: four times a line of 300 stations and 900 rules."""

_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_TEXT_ALONE: Final = frozenset({str})


class Absent(Enum):
    MISSING = "missing"

    def __bool__(self) -> bool:
        return False


MISSING: Final = Absent.MISSING
"""There is no value here, which is not the same as null."""

KINDS: Final = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    Decimal: "number",
    str: "string",
    list: "array",
    dict: "object",
}
TYPES: Final = ("null", "boolean", "number", "string", "array", "object")


def json_type(value: Any) -> str:
    """Return the type of the value, one of TYPES."""
    return KINDS[type(value)]


TYPE_NAMES: Final = {
    "null": "null",
    "boolean": "a boolean",
    "number": "a number",
    "string": "a string",
    "array": "an array",
    "object": "an object",
}


def kind_phrase(value: Any) -> str:
    """Its kind in a sentence: a number, an object, null."""
    kind = KINDS.get(type(value))
    return TYPE_NAMES[kind] if kind else f"a {type(value).__name__}"


def exact_number(value: Any) -> int | Decimal:
    """A number of any of the three types as one that compares without rounding."""
    return Decimal(repr(value)) if type(value) is float else value


def is_number(value: Any) -> bool:
    return KINDS.get(type(value)) == "number"


def are_equal(left: Any, right: Any) -> bool:
    """Strict by type: true ≠ 1, 0 = 0.0, lists and objects deeply."""
    a, b = type(left), type(right)
    if a is str or b is str:
        return a is b and bool(left == right)
    # Python takes True for 1.
    if a is bool or b is bool or left is None or right is None:
        return left is right
    if a is list or b is list:
        return a is b and len(left) == len(right) and all(map(are_equal, left, right))
    if a is dict or b is dict:
        return a is b and left.keys() == right.keys() and all(are_equal(left[k], right[k]) for k in left)
    # Floats stand for their shortest text, so two are the same number exactly if they are equal.
    return bool(left == right) if a is b else exact_number(left) == exact_number(right)


def is_less(left: Any, right: Any) -> bool:
    """Order is for numbers only, else false."""
    if type(left) is int and type(right) is int:
        return left < right
    return is_number(left) and is_number(right) and exact_number(left) < exact_number(right)


def contains_part(container: Any, part: Any) -> bool:
    """Substring of a string, element of a list."""
    if type(container) is str:
        return type(part) is str and part in container
    return type(container) is list and any(are_equal(member, part) for member in container)


def json_number_or_none(text: str) -> int | Decimal | None:
    """The number that a text says, if, stripped of white space, it is a JSON number."""
    stripped = text.strip()
    if not _JSON_NUMBER.match(stripped):
        return None
    try:
        return exact_number(jsontext.parse_number(stripped))
    except jsontext.JsonTextError:
        return None


def node_count(value: Any) -> int:
    """Return the number of nodes of a value."""
    if type(value) is list:
        return 1 + sum(map(node_count, value))
    if type(value) is dict:
        return 1 + sum(map(node_count, value.values()))
    return 1


def has_more_nodes(value: Any, most: int) -> bool:
    """Return whether a value has more than `most` nodes. Visits no more than that, level by level, at any
    depth."""
    level, node_count = [value], 1
    # By levels, without recursion: the value comes from outside, and may be nested as deeply as it likes
    while level and node_count <= most:
        below: list[Any] = []
        for node in level:
            if type(node) is dict:
                below += node.values()
            elif type(node) is list:
                below += node
        node_count += len(below)
        level = below
    return node_count > most


def check_document(value: Any) -> None:
    """Refuse what no store can hold and what is too large to be a document. Raises Malformed with the place."""
    if has_more_nodes(value, MAX_VALUES):
        raise Malformed("", _("the document holds more than %(most)s values", most=MAX_VALUES))
    check_storable(value, "")


def check_storable(value: Any, path: str) -> None:
    """Refuse what no JSON store can hold. Raises Malformed with the place (law §2, last line)."""
    if _is_surely_storable(value):
        return
    trail: list[str | int] = []
    message = _value_fault_or_empty(value, trail)
    if message:
        raise Malformed(reduce(member_path, trail, path), message)


def check_members(values: dict[str, Any], path: str) -> None:
    """`check_storable` of each value; their places are only made where one is wrong."""
    for key, value in values.items():
        if not _is_surely_storable(value):
            check_storable(value, member_path(path, key))


def _is_surely_storable(value: Any) -> bool:
    """Return whether the value has no fault: level by level, several times faster than `_fault`, which names
    the fault. Very deep nesting is left to `_fault`."""
    if type(value) is str:
        return _is_storable(value)
    level = [value]
    for _level in range(MAX_DEPTH):
        below: list[Any] = []
        for node in level:
            is_a = type(node)
            if is_a is str:
                if not _is_storable(node):
                    return False
            elif is_a is dict:
                # All keys at once: counts of a walk are checked at every step
                if not (_TEXT_ALONE.issuperset(map(type, node)) and _is_storable("".join(node))):
                    return False
                below += node.values()
            elif is_a is list:
                below += node
            elif is_a is not int and _fault_in_leaf_or_empty(node):
                return False
        if not below:
            return True
        level = below
    return False


def _is_storable(text: str) -> bool:
    # ASCII has no surrogates, and Python knows of each string whether it is ASCII.
    return ("\x00" not in text) if text.isascii() else not _UNSTORABLE.search(text)


def unstorable_text_fault_or_empty(text: str) -> str:
    """Return the reason that a text cannot be stored, or an empty text."""
    match = _UNSTORABLE.search(text)
    if not match:
        return ""
    if match.group() == "\x00":
        return _("the text holds a NUL character at position %(position)s", position=match.start())
    return _("the text holds half of a surrogate pair at position %(position)s", position=match.start())


def _value_fault_or_empty(value: Any, trail: list[str | int]) -> str:
    """Return the fault of a value and leave its path in `trail`, which is written only on the way to a fault."""
    is_a = type(value)
    if is_a is str:
        return unstorable_text_fault_or_empty(value)
    if is_a is not dict and is_a is not list:
        return _fault_in_leaf_or_empty(value)
    # Before Python's own limit, which would end the process of a reader in a traceback
    if len(trail) >= MAX_DEPTH:
        return _("nested deeper than %(most)s", most=MAX_DEPTH)
    members = value.items() if is_a is dict else enumerate(value)
    for step, member in members:
        message = (_fault_in_key(step) if is_a is dict else "") or _fault_below(step, member, trail)
        if message:
            return message
    return ""


def _fault_below(step: str | int, member: Any, trail: list[str | int]) -> str:
    trail.append(step)
    message = _value_fault_or_empty(member, trail)
    if not message:
        trail.pop()
    return message


def _fault_in_leaf_or_empty(value: Any) -> str:
    if type(value) not in KINDS:
        return _("not a JSON value: %(kind)s", kind=type(value).__name__)
    finite = value.is_finite() if type(value) is Decimal else type(value) is not float or isfinite(value)
    return "" if finite else "not a number that JSON knows (NaN or Infinity)"


def _fault_in_key(step: Any) -> str:
    return (
        unstorable_text_fault_or_empty(step)
        if type(step) is str
        else _("keys are text, not %(kind)s", kind=type(step).__name__)
    )


def texts_of_values(value: Any) -> Iterator[str]:
    """Every text in a JSON value, but for the names of members."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from texts_of_values(member)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from texts_of_values(member)


@lru_cache(maxsize=200)
def _cached_frozenset(known: tuple[str, ...]) -> frozenset[str]:
    return frozenset(known)


def read_mapping(value: Any, path: str) -> dict[str, Any]:
    if value is None:
        return {}
    if type(value) is not dict:
        raise Malformed(path, "has to be an object")
    return value


def read_sequence(value: Any, path: str) -> list[Any]:
    if value is None:
        return []
    if type(value) is not list:
        raise Malformed(path, "has to be a list")
    return value


def read_text(value: Any, path: str) -> str | None:
    if value is not None and type(value) is not str:
        raise Malformed(path, "has to be a text")
    return value


def read_word(value: Any, path: str, words: Collection[str]) -> str | None:
    if value is not None and (type(value) is not str or value not in words):
        raise Malformed(path, f"has to be one of {', '.join(words)}")
    return value


def whole_number_or_none(value: Any) -> int | None:
    """The integer that a number says (3 and 3.0), None if it is no whole number."""
    if not is_number(value):
        return None
    if type(value) is int:
        return value
    # A huge exponent would make an integer of as many digits.
    if type(value) is Decimal and value.adjusted() > 4000:
        return None
    return int(value) if value == int(value) else None


def read_integer_or_none(value: Any, path: str) -> int | None:
    if value is None:
        return None
    number = whole_number_or_none(value)
    if number is None:
        raise Malformed(path, "has to be a whole number")
    return number


def read_count(value: Any, path: str) -> int | None:
    number = read_integer_or_none(value, path)
    if number is not None and number < 0:
        raise Malformed(path, "has to be 0 or more")
    return number


def read_counts(value: Any, path: str) -> dict[str, int]:
    """`{name: n}`; a null entry is absent."""
    members = read_mapping(value, path)
    # A walk reads its counts at every step: places are only made where one may be wrong
    if all(type(member) is int and member >= 0 for member in members.values()):
        return dict(members)
    by_key = {key: read_count(member, member_path(path, key)) for key, member in members.items()}
    return {key: member for key, member in by_key.items() if member is not None}


def read_flags(value: Any, path: str) -> dict[str, bool]:
    """`{name: true or false}` in the order given; a null entry is absent."""
    members = read_mapping(value, path)
    for key, member in members.items():
        if member is not None and type(member) is not bool:
            raise Malformed(member_path(path, key), "has to be true or false")
    return {key: member for key, member in members.items() if member is not None}


def check_keys(value: Mapping[str, Any], path: str, known: tuple[str, ...]) -> None:
    if value.keys() <= _cached_frozenset(known):
        return
    for key in value:
        if key not in known:
            raise Malformed(member_path(path, key), f"unknown key; known are {', '.join(known)}")
