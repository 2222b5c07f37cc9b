"""Reading JSON that anybody may have written: what is not of the wanted type is missing, and nothing raises."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

# What is larger than these is taken for nonsense.
MOST_TOKENS = 10**12
MOST_DOLLARS = 10**7


def parsed_json_object_or_none(line: str) -> dict[str, Any] | None:
    """The JSON object that a line is; None for any other line."""
    if not line.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def dict_or_empty(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def list_or_empty(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def text_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""


def token_count_or_zero(value: Any) -> int:
    """A number of tokens, or of tries; 0 for what is none."""
    # Not `isinstance`: true is an int, too.
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else 0


def dollars_or_none(value: Any) -> float | None:
    if type(value) not in (int, float) or not 0 <= value <= MOST_DOLLARS or not isfinite(value):
        return None
    return float(value)


def seconds_of_milliseconds_or_none(value: Any) -> float | None:
    """Convert milliseconds to seconds."""
    return value / 1000 if type(value) is int and 0 <= value <= MOST_TOKENS else None


def exit_code_or_none(value: Any) -> int | None:
    return value if type(value) is int and -1000 < value < 1000 else None


def text_or_joined_texts(value: Any) -> str:
    """A text, or the texts of a list of {type: text, text}."""
    if isinstance(value, list):
        return "\n".join(
            part for part in (text_or_empty(dict_or_empty(entry).get("text")) for entry in value) if part
        )
    return text_or_empty(value)


def one_line_json(value: Any) -> str:
    """Return the arguments of an unknown tool, in one line."""
    try:
        return json.dumps(value, ensure_ascii=False) if value else ""
    except (ValueError, RecursionError):
        return ""
