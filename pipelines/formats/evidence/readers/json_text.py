"""JSON of others, bounded in size and depth."""

from __future__ import annotations

import json
import re
from typing import Any

from pipelines.formats.evidence.readers.report import DEPTH, MOST_BYTES, UnreadableReport

# A string that nothing ends reaches to the end, so that no other is looked for inside it: one pass, whatever comes.
_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")


def parsed_json(data: bytes) -> Any:
    """Raises UnreadableReport."""
    if len(data) > MOST_BYTES:
        raise UnreadableReport("larger than 16 MiB")
    # Before it is read: json goes down by recursion, and a document that is deep enough ends the
    # stack
    depth = 0
    for bracket in _BRACKETS.findall(_TEXTS.sub(b"", data)):
        depth += 1 if bracket in b"[{" else -1
        if depth > DEPTH:
            raise UnreadableReport("nested too deeply")
    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UnreadableReport("no readable JSON") from error


def objects_of_list(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def nested_value_or_none(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
