"""JSON as the editor's forms show and read it, and how they refuse what was typed."""

from __future__ import annotations

import json
from typing import Any


class FieldRefused(ValueError):
    """Error for text that cannot even be tried. `hint`: the remedy."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2 if type(value) is dict or _is_deep(value) else None)


def parse_json(typed: str) -> Any:
    """Parse JSON. Raises FieldRefused with line and column."""
    try:
        return json.loads(typed)
    except json.JSONDecodeError as fault:
        message = f"is no JSON in line {fault.lineno}, column {fault.colno}"
        raise FieldRefused(message, "texts stand in double quotes, no comma after the last") from fault
    # ValueError: Python refuses integers of more than 4,300 digits.
    except (RecursionError, ValueError) as fault:
        raise FieldRefused("is nested too deeply, or contains a number that is too long") from fault


def is_json(typed: str) -> bool:
    try:
        parse_json(typed)
    except FieldRefused:
        return False
    return True


def is_json_list(typed: str) -> bool:
    return typed.lstrip().startswith("[") and is_json(typed)


def _is_deep(value: Any) -> bool:
    return type(value) is list and any(type(member) in (dict, list) for member in value)
