"""Whether a text says a document that went through a browser: there every number is a double."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

EXACT = 2**53
"""Up to here a double tells all integers apart."""


def says(read: Any, sent: Any) -> bool:
    """`read`: as the text says it, with all digits; `sent`: as the browser holds it, long integers rounded."""
    if isinstance(read, Mapping) and isinstance(sent, Mapping):
        return read.keys() == sent.keys() and all(says(read[key], sent[key]) for key in read)
    if isinstance(read, list) and isinstance(sent, list):
        return len(read) == len(sent) and all(map(says, read, sent))
    if _is_number(read) and _is_number(sent):
        return bool(read == sent) or (abs(read) > EXACT and float(read) == float(sent))
    return type(read) is type(sent) and bool(read == sent)


def _is_number(value: Any) -> bool:
    """Of any kind; the browser sends 5.0 as 5."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
