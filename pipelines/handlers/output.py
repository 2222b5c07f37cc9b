"""The output in the text of a command (law §2). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pipelines.handlers.strict import Unreadable, parse

FENCE = re.compile(r"^[ \t]*```json[ \t]*\r?\n(.*?)^[ \t]*```[ \t]*\r?$", re.MULTILINE | re.DOTALL)


def from_text(text: str, wanted: Sequence[str]) -> tuple[bool, Any]:
    """(found, output): the first fenced json block that holds a wanted key, else the whole text if it is JSON.

    Without wanted keys the first block that parses counts, unfiltered."""
    for match in FENCE.finditer(text):
        try:
            value = parse(match.group(1), "output")
        except Unreadable:
            continue
        if not wanted:
            return True, value
        if isinstance(value, dict) and any(key in value for key in wanted):
            return True, filtered(value, wanted)
    try:
        return True, filtered(parse(text, "output"), wanted)
    except Unreadable:
        return False, None


def filtered(value: Any, wanted: Sequence[str]) -> Any:
    """Only the wanted keys of an object; anything else as it is."""
    if not wanted or not isinstance(value, dict):
        return value
    return {key: value[key] for key in wanted if key in value}
