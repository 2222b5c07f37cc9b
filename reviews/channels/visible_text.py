"""Text of people and agents as a chat shows it: one line, and nothing in it that disguises itself."""

from __future__ import annotations

from pipelines.routing.basics.hidden_characters import escape_hidden
from pipelines.templatetags.cuts import shortened

MOST_SUMMARY = 600
"""Characters of a summary."""


def shortened_visible_line(text: str, max_length: int) -> str:
    """Return one line, with what would disguise itself made visible."""
    return shortened(escape_hidden(" ".join(text.split())), max_length)
