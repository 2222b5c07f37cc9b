"""JSON text to values and back without losing a digit.

A number becomes an int, or a float where the shortest text of that float is the very number that was
written, or else a `Decimal`: 0.1 stays 0.1, and 1e400 stays 1e400. Duplicate keys, NaN and Infinity are refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from json.encoder import encode_basestring as quoted_as_is
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from pipelines.routing.basics.wording import Wording as _

__all__ = ["MAX_INT_DIGITS", "JsonTextError", "dumps", "is_double", "loads", "parse_number", "quoted"]

MAX_INT_DIGITS = 4000
"""Longer integers are kept as `Decimal`: Python converts them in quadratic time, and refuses above 4300 digits."""


class JsonTextError(ValueError):
    """The text is not JSON (RFC 8259), or holds something that Gateline refuses; `line`, `column` 1-based."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        self.message = message
        self.line = line
        self.column = column
        super().__init__(message if line is None else f"line {line}, column {column}: {message}")


def parse_number(text: str) -> int | float | Decimal:
    """The number that a JSON number text says, exactly."""
    if text.lstrip("-").isdigit():
        return int(text) if len(text) <= MAX_INT_DIGITS else Decimal(text)
    try:
        exact = Decimal(text)
    except InvalidOperation:
        raise JsonTextError(_("the exponent of %(text)s is out of range", text=text[:40])) from None
    nearest = float(text)
    return nearest if _equals_double(nearest, exact) else exact


def loads(text: str) -> Any:
    """The value of one JSON text. Raises JsonTextError."""
    try:
        return _decoder.decode(text)
    except json.JSONDecodeError as error:
        raise JsonTextError(error.msg, error.lineno, error.colno) from None
    except RecursionError:
        raise JsonTextError("nested too deeply") from None


def dumps(value: Any, *, indent: int | None = None, ascii_only: bool = True, sort_keys: bool = False) -> str:
    """Write JSON in which numbers keep every digit and stay numbers, on one line or with an indent as `json.dumps` has
    it. `value` is plain JSON (or Decimal). Raises ValueError for NaN and infinities."""
    try:
        return json.dumps(value, allow_nan=False, indent=indent, ensure_ascii=ascii_only, sort_keys=sort_keys)
    except TypeError:
        # Slower: `json.dumps` knows no Decimal.
        return "".join(
            _json_pieces(value, _Layout(indent, quoted if ascii_only else quoted_as_is, sort_keys), 0)
        )


def is_double(value: Decimal) -> bool:
    """True if the shortest text of some double is this number."""
    return _equals_double(float(value), value)


def _equals_double(nearest: float, exact: Decimal) -> bool:
    # False of infinities, as inf - inf is NaN: a number beyond the range of doubles is none.
    return nearest - nearest == 0 and Decimal(repr(nearest)) == exact


def _refuse_constant(name: str) -> Any:
    raise JsonTextError(_("%(name)s is not JSON", name=name))


def _unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        keys: set[str] = set()
        twice = next(key for key, _ in pairs if key in keys or keys.add(key))  # type: ignore[func-returns-value]
        raise JsonTextError(_("the key %(key)s appears twice in one object", key=quoted(twice)))
    return result


_decoder = json.JSONDecoder(
    parse_float=parse_number,
    parse_int=parse_number,
    parse_constant=_refuse_constant,
    object_pairs_hook=_unique_object,
)


@dataclass(frozen=True)
class _Layout:
    """The way a text is laid out. `indent`: spaces of a level; None for one line."""

    indent: int | None
    quote: Callable[[str], str]
    sort_keys: bool

    def texts_before_between_and_after(self, level: int) -> tuple[str, str, str]:
        """Return the texts before the first member, between two, and after the last."""
        if self.indent is None:
            return "", ", ", ""
        begin = "\n" + " " * self.indent * (level + 1)
        return begin, f",{begin}", "\n" + " " * self.indent * level


def _json_pieces(value: Any, layout: _Layout, level: int) -> Iterator[str]:
    """Yield what `json.dumps` writes, with `Decimal` as the number that it is."""
    if isinstance(value, dict) and value:
        keys = sorted(value) if layout.sort_keys else value
        members = ((layout.quote(key) + ": ", value[key]) for key in keys)
        yield from _collection_pieces("{", "}", members, layout, level)
    elif isinstance(value, (list, tuple)) and value:
        yield from _collection_pieces("[", "]", (("", member) for member in value), layout, level)
    elif isinstance(value, Decimal):
        # JSON has no word for infinity, nor for what is no number
        if not value.is_finite():
            raise ValueError(f"{value} is not JSON")
        yield str(value)
    elif isinstance(value, str):
        yield layout.quote(value)
    else:
        yield json.dumps(value, allow_nan=False)


def _collection_pieces(
    opening: str, closing: str, members: Iterable[tuple[str, Any]], layout: _Layout, level: int
) -> Iterator[str]:
    before, between, after = layout.texts_before_between_and_after(level)
    yield opening
    for index, (label, member) in enumerate(members):
        yield (between if index else before) + label
        yield from _json_pieces(member, layout, level + 1)
    yield after + closing
