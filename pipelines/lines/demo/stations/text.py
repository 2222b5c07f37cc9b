"""Text from strangers (file names, messages, program output) made safe to report."""

from __future__ import annotations

from typing import Any

LONGEST = 500  # characters of one message in a report


def without_unstorable_characters(value: Any) -> Any:
    """`value` (any JSON value) with every string in it free of NUL and lone surrogates, which a report may not hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
    if isinstance(value, dict):
        return {
            without_unstorable_characters(str(key)): without_unstorable_characters(item)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [without_unstorable_characters(item) for item in value]
    return value


def cut_with_ellipsis(text: str, longest: int = LONGEST) -> str:
    """`text`, cut with an ellipsis after `longest` characters."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def one_line(text: str) -> str:
    """`text` as one printable line: a stranger's text must not start a line of the log, nor move its cursor."""
    # A stranger's text must not begin a line of the log, nor move its cursor
    return "".join(c if c.isprintable() else " " for c in without_unstorable_characters(text)).strip()


def number_and_noun(number: int, noun: str, plural: str = "") -> str:
    """“1 test”, “2 tests”."""
    return f"{number} {noun}" if number == 1 else f"{number} {plural or noun + 's'}"
