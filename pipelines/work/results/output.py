"""The output in the text of a command (law §2). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
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


def besides_output(text: str, wanted: Sequence[str], output: Any) -> str:
    """What an agent said around its output. Where it said nothing else, the text that the output is, if it is one."""
    if not wanted or not isinstance(output, dict):
        return text
    said = FENCE.sub(partial(_kept, wanted), plain_lines(text)).strip()
    if said and not _is_json(said):
        return re.sub(r"\n{3,}", "\n\n", said)
    values = [each for each in output.values() if isinstance(each, str)]
    return values[0].strip() if len(values) == len(output) == 1 else ""


def _kept(wanted: Sequence[str], match: re.Match[str]) -> str:
    """A block that holds none of the wanted keys is part of what it said."""
    try:
        value = parse(match.group(1), "output")
    except Unreadable:
        return match.group()
    return "" if isinstance(value, dict) and any(key in value for key in wanted) else match.group()


def _is_json(text: str) -> bool:
    try:
        parse(text, "output")
    except Unreadable:
        return False
    return True


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
