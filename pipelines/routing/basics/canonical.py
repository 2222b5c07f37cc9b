"""Canonical JSON (RFC 8785) and the hash of a document.

RFC 8785 knows only numbers that a double holds. A number that none holds exactly (an integer of twenty
digits, 1e400) is written as its shortest exact decimal instead: the same document, the same bytes, and two
documents with different numbers never have one hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import rfc8785

from pipelines.routing.basics import jsontext
from pipelines.routing.basics.values import exact_number


class CanonicalError(ValueError):
    """The value is not JSON: a key that is no text, a lone surrogate, NaN or Infinity."""


def canonical_json(document: Any) -> bytes:
    """Raises CanonicalError."""
    try:
        return rfc8785.dumps(_value_with_doubles(document))
    except _WideNumber:
        return _encode_wide(document)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise CanonicalError(str(error)) from None


def canonical_digest(document: Any) -> str:
    """SHA-256 of the canonical bytes, in hex."""
    return hashlib.sha256(canonical_json(document)).hexdigest()


class _WideNumber(Exception):
    """A number was met that no double says."""


def _value_with_doubles(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _value_with_doubles(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_value_with_doubles(member) for member in value]
    if type(value) is int or type(value) is Decimal:
        return _as_double(value)
    return value


def _as_double(value: int | Decimal) -> float | int:
    # Below 2**53 every integer is a double, exactly.
    if type(value) is int and abs(value) < 2**53:
        return value
    number = Decimal(value)
    if not number.is_finite() or not jsontext.is_double(number):
        raise _WideNumber
    return float(number)


def _encode_wide(value: Any) -> bytes:
    if isinstance(value, Mapping):
        # RFC 8785 sorts keys by their UTF-16 code units, not by code points.
        return (
            b"{" + b",".join(_member_bytes(key, value[key]) for key in sorted(value, key=_utf16_bytes)) + b"}"
        )
    if isinstance(value, (list, tuple)):
        return b"[" + b",".join(map(_encode_wide, value)) + b"]"
    try:
        return _scalar_bytes(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise CanonicalError(str(error)) from None


def _scalar_bytes(value: Any) -> bytes:
    try:
        return rfc8785.dumps(_value_with_doubles(value))
    except _WideNumber:
        return _decimal_bytes(Decimal(exact_number(value)))


def _member_bytes(key: Any, value: Any) -> bytes:
    return _scalar_bytes(key) + b":" + _encode_wide(value)


def _utf16_bytes(key: Any) -> bytes:
    if not isinstance(key, str):
        raise CanonicalError("object keys must be text")
    try:
        return key.encode("utf-16be")
    except UnicodeEncodeError as error:
        raise CanonicalError(str(error)) from None


def _decimal_bytes(number: Decimal) -> bytes:
    """Digits without leading or trailing zeros, then the exponent of ten."""
    if not number.is_finite():
        raise CanonicalError("not a number that JSON knows")
    sign, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    short = text.rstrip("0")
    power = int(exponent) + len(text) - len(short)
    return f"{'-' if sign else ''}{short}{f'e{power:+d}' if power else ''}".encode()
