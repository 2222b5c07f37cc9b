"""Reading JSON that was handed in: the first fault is raised as Malformed with its place; null is absent."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

from pipelines.routing.basics.problems import Malformed, join
from pipelines.routing.basics.values import is_number


@lru_cache(maxsize=200)
def _as_set(known: tuple[str, ...]) -> frozenset[str]:
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


def to_integer(value: Any) -> int | None:
    """The integer that a number says (3 and 3.0), None if it is no whole number."""
    if not is_number(value):
        return None
    if type(value) is int:
        return value
    # A huge exponent would make an integer of as many digits.
    if type(value) is Decimal and value.adjusted() > 4000:
        return None
    return int(value) if value == int(value) else None


def read_integer(value: Any, path: str) -> int | None:
    if value is None:
        return None
    number = to_integer(value)
    if number is None:
        raise Malformed(path, "has to be a whole number")
    return number


def read_count(value: Any, path: str) -> int | None:
    number = read_integer(value, path)
    if number is not None and number < 0:
        raise Malformed(path, "has to be 0 or more")
    return number


def read_counts(value: Any, path: str) -> dict[str, int]:
    """`{name: n}`; a null entry is absent."""
    by_key = {key: read_count(member, join(path, key)) for key, member in read_mapping(value, path).items()}
    return {key: member for key, member in by_key.items() if member is not None}


def read_flags(value: Any, path: str) -> dict[str, bool]:
    """`{name: true or false}` in the order given; a null entry is absent."""
    members = read_mapping(value, path)
    for key, member in members.items():
        if member is not None and type(member) is not bool:
            raise Malformed(join(path, key), "has to be true or false")
    return {key: member for key, member in members.items() if member is not None}


def check_keys(value: Mapping[str, Any], path: str, known: tuple[str, ...]) -> None:
    if value.keys() <= _as_set(known):
        return
    for key in value:
        if key not in known:
            raise Malformed(join(path, key), f"unknown key; known are {', '.join(known)}")
