"""Data from outside: values that no JSON column, log or page should contain are refused with their path (law §2)."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pipelines.errors import Invalid
from pipelines.routing.basics import values
from pipelines.routing.basics.problems import Malformed

SIZE = 10 * 1024 * 1024
LONGEST_TEXT = 20_000


def checked_digest(value: Any, path: str = "") -> str:
    """Check a JSON value and return its digest. Raises `Invalid` naming the place.

    Refused: NUL, lone surrogates, NaN and infinities, nesting deeper than 100, more than 10 MiB."""
    try:
        values.check_storable(value, path)
        text = _canonical_json(value)
    except Malformed as fault:
        raise Invalid.at(fault.path, fault.message) from fault
    except ValueError as fault:
        # Python refuses to write a number of more than 4,300 digits.
        raise Invalid.at(path, "contains a number that is too long") from fault
    # json.dumps escapes all that is not ASCII: a character is a byte.
    if len(text) > SIZE:
        raise Invalid.at(
            path,
            f"larger than {SIZE >> 20} MiB",
            "Pass large data as an artifact.",
        )
    return _sha256_hex(text)


def checked_text(value: str, path: str, longest: int = LONGEST_TEXT) -> str:
    """Text of a person, unchanged. Raises `Invalid` if it cannot be stored or is too long."""
    checked_digest(value, path)
    if len(value) > longest:
        raise Invalid.at(path, f"is longer than {longest} characters")
    return value


def json_digest(value: Any) -> str:
    """SHA-256, hex, of a JSON value, whatever the order of its keys."""
    return _sha256_hex(_canonical_json(value))


def _canonical_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_raise_not_json)


def _raise_not_json(value: Any) -> Any:
    """Refuse what JSON cannot hold. A number with more digits than an int or a double keeps arrives as a Decimal."""
    raise ValueError(f"{type(value).__name__} has no place in JSON")


def _sha256_hex(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
