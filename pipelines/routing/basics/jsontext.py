"""JSON text to values and back without losing a digit.

A number becomes an int, or a float where the shortest text of that float is the very number that was
written, or else a `Decimal`: 0.1 stays 0.1, and 1e400 stays 1e400. Duplicate keys, NaN and Infinity are refused.
"""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from pipelines.routing.basics.wording import Wording as _

__all__ = ["MAX_INT_DIGITS", "JsonTextError", "dumps", "is_double", "loads", "number", "quoted"]

MAX_INT_DIGITS = 4000
"""Longer integers are kept as `Decimal`: Python converts them in quadratic time, and refuses above 4300 digits."""


class JsonTextError(ValueError):
    """The text is not JSON (RFC 8259), or holds something that Gateline refuses; `line`, `column` 1-based."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        self.message = message
        self.line = line
        self.column = column
        super().__init__(message if line is None else f"line {line}, column {column}: {message}")


def number(text: str) -> int | float | Decimal:
    """The number that a JSON number text says, exactly."""
    if text.lstrip("-").isdigit():
        return int(text) if len(text) <= MAX_INT_DIGITS else Decimal(text)
    try:
        exact = Decimal(text)
    except InvalidOperation:
        raise JsonTextError(_("the exponent of %(text)s is out of range", text=text[:40])) from None
    nearest = float(text)
    return nearest if _says(nearest, exact) else exact


def loads(text: str) -> Any:
    """The value of one JSON text. Raises JsonTextError."""
    try:
        return _decoder.decode(text)
    except json.JSONDecodeError as error:
        raise JsonTextError(error.msg, error.lineno, error.colno) from None
    except RecursionError:
        raise JsonTextError(_("nested too deeply")) from None


def dumps(value: Any) -> str:
    """Compact JSON, ASCII only, one line; numbers keep every digit. `value` is plain JSON (or Decimal)."""
    try:
        return json.dumps(value, allow_nan=False)
    except TypeError:
        parts: list[str] = []
        _write(value, parts)
        return "".join(parts)


def is_double(value: Decimal) -> bool:
    """Whether the shortest text of some double is this number."""
    return _says(float(value), value)


def _says(nearest: float, exact: Decimal) -> bool:
    return nearest - nearest == 0 and Decimal(repr(nearest)) == exact


def _refuse_constant(name: str) -> Any:
    raise JsonTextError(_("%(name)s is not JSON", name=name))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise JsonTextError(_("the key %(key)s appears twice in one object", key=quoted(twice)))
    return result


_decoder = json.JSONDecoder(
    parse_float=number, parse_int=number, parse_constant=_refuse_constant, object_pairs_hook=_object
)


def _write(value: Any, parts: list[str]) -> None:
    """As `json.dumps` writes, with `Decimal` as the number that it is."""
    if isinstance(value, dict):
        parts.append("{")
        for index, (key, member) in enumerate(value.items()):
            parts.append((", " if index else "") + quoted(key) + ": ")
            _write(member, parts)
        parts.append("}")
    elif isinstance(value, (list, tuple)):
        parts.append("[")
        for index, member in enumerate(value):
            if index:
                parts.append(", ")
            _write(member, parts)
        parts.append("]")
    elif isinstance(value, Decimal):
        parts.append(str(value))
    else:
        parts.append(json.dumps(value, allow_nan=False))
