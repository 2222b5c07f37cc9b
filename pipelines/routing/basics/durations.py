"""Durations of the document: seconds, or `90s`, `5m`, `2h`, `1d`; kept as seconds."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

# A number and its unit: `90s`, `1.5 h`
_TEXT = re.compile(r"\s*([0-9]{1,9}(?:\.[0-9]{1,6})?)\s*([smhd])\s*\Z")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
MAX = 10 * 366 * 86400
"""Ten years: more is a slip of the pen, and more than timers can hold."""


class DurationError(ValueError):
    """Not a duration."""


def parse_seconds(value: Any) -> int | float:
    """Raises DurationError. Whole numbers come back as int."""
    length = _parse_length(value)
    if not 0 <= length <= MAX:
        raise DurationError("a duration is between 0 and ten years")
    return int(length) if length == int(length) else float(length)


def _parse_length(value: Any) -> Decimal:
    if type(value) in (int, float, Decimal):
        # The shortest text of a float: 0.1, not the binary fraction behind it
        return Decimal(repr(value)) if type(value) is float else Decimal(value)
    match = _TEXT.match(value) if type(value) is str else None
    if not match:
        raise DurationError("a duration is a number of seconds, or a text like 90s, 5m, 2h, 1d")
    return Decimal(match[1]) * _SECONDS[match[2]]


def format_duration(length: int | float) -> str:
    """Seconds in the largest unit of which they are whole ones: `90s`, `5m`, `4h`, `1d`."""
    for unit, size in reversed(_SECONDS.items()):
        if length and length % size == 0:
            return f"{int(length // size)}{unit}"
    return f"{length:g}s"
