"""JSON that work wrote, read as strictly as any client's: no NaN, no twice-named key, nothing that cannot be stored."""

from __future__ import annotations

from decimal import Decimal
from math import isfinite
from typing import Any

from pipelines.routing.basics import jsontext, values
from pipelines.routing.basics.problems import Malformed


class Unreadable(Exception):
    """The text is not the JSON that was expected."""


def parse_storable_json(text: str, path: str) -> Any:
    """:raises Unreadable: with the place"""
    try:
        value = jsontext.loads(text)
        values.check_storable(value, path)
    except jsontext.JsonTextError as error:
        raise Unreadable(f"{path}: {error}") from error
    except Malformed as error:
        raise Unreadable(str(error)) from error
    return _value_with_doubles(value, path)


def _value_with_doubles(value: Any, path: str) -> Any:
    """Numbers of more digits than a double has become doubles: what the database's JSON gives back."""
    if isinstance(value, Decimal):
        if not isfinite(float(value)):
            raise Unreadable(f"{path}: the number {str(value)[:40]} is out of range")
        return float(value)
    if isinstance(value, list):
        return [_value_with_doubles(member, path) for member in value]
    if isinstance(value, dict):
        return {key: _value_with_doubles(member, path) for key, member in value.items()}
    return value
