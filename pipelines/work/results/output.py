"""The output in the text of a command (law §2). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pipelines.work.results.strict_json import Unreadable, parse

FENCE = re.compile(r"^[ \t]*```json[ \t]*\r?\n(.*?)^[ \t]*```[ \t]*\r?$", re.MULTILINE | re.DOTALL)


PLACEHOLDER = "…"
"""What stands for each value in the example of the section "Expected outputs" of a prompt."""


def example(keys: Sequence[str]) -> dict[str, str]:
    """The output that a prompt shows as an example. An agent that echoes it has not answered."""
    return dict.fromkeys(keys, PLACEHOLDER)


def from_text(text: str, wanted: Sequence[str], prompt: str = "") -> tuple[bool, Any]:
    """(found, output): the first fenced json block that holds a wanted key, else the whole text if it is JSON.

    Without wanted keys the first block that parses counts, unfiltered. What repeats the `prompt` word for word, or the
    example in it, is not output."""
    text = without_echo(text, prompt)
    for match in FENCE.finditer(text):
        try:
            value = parse(match.group(1), "output")
        except Unreadable:
            continue
        if not wanted:
            return True, value
        if isinstance(value, dict) and any(key in value for key in wanted) and not is_example(value):
            return True, filtered(value, wanted)
    try:
        value = parse(text, "output")
    except Unreadable:
        return False, None
    return (False, None) if wanted and is_example(value) else (True, filtered(value, wanted))


def without_echo(text: str, prompt: str) -> str:
    """The text with every verbatim repetition taken out of a prompt that holds json blocks itself: an example, or what
    stations before this one put out. Line ends do not count."""
    echoed = plain_lines(prompt).strip()
    return plain_lines(text).replace(echoed, "") if FENCE.search(echoed) else text


def plain_lines(text: str) -> str:
    return text.replace("\r\n", "\n")


def is_example(value: Any) -> bool:
    """Whether every value still is the placeholder."""
    return isinstance(value, dict) and bool(value) and all(each == PLACEHOLDER for each in value.values())


def filtered(value: Any, wanted: Sequence[str]) -> Any:
    """Only the wanted keys of an object; anything else as it is."""
    if not wanted or not isinstance(value, dict):
        return value
    return {key: value[key] for key in wanted if key in value}
