"""`key=value`, as people type the fields of a form."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from gateline.failures import FaultPlace, InvalidFailure, UsageFailure

# Bounded, because int() refuses more than 4,300 digits
NUMBER = re.compile(r"[+-]?[0-9]{1,300}(\.[0-9]{0,300})?(e[+-]?[0-9]{1,2})?", re.IGNORECASE)
YES, NO = ("true", "yes"), ("false", "no")


def input_key_and_value(assignment: str) -> tuple[str, str]:
    """Raises Usage."""
    key, equals, value = assignment.partition("=")
    if not equals or not key:
        raise UsageFailure(f"“{assignment}” is no input.", "Write key=value; a value with spaces in quotes.")
    return key, value


def parse_value(field: dict[str, Any] | None, key: str, text: str, where: str = "inputs") -> Any:
    """Return the text as the value that a form takes. Keys that the form lacks are left to the server, which
    names those that it has. Raises Usage, InvalidFailure."""
    kind = field["type"] if field else "text"
    if kind == "repository" and text.startswith((".", "~")):
        # The server has another working folder, and another home.
        return str(Path(text).expanduser().resolve())
    if kind == "file":
        how = f"Upload it: --file {key}=@path" if where == "inputs" else "Decide in the browser: --open"
        raise UsageFailure(f"{key} is a file.", how)
    if kind == "yes_no" and text.lower() in YES + NO:
        return text.lower() in YES
    if kind == "number":
        if not NUMBER.fullmatch(text.strip()):
            place = FaultPlace(f"“{text}” is no number.", f"{where}.{key}")
            raise InvalidFailure("A value does not fit its field.", places=[place])
        return int(text) if text.strip().lstrip("+-").isdigit() else float(text)
    return text
