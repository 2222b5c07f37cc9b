"""Text of others in the Markdown of a host: it is shown as it is, and mentions, closes and hides nothing."""

from __future__ import annotations

import re

from pipelines.work.results.text import escaped


def code(text: str) -> str:
    """In a line."""
    inner = " ".join(_plain(text).split())
    longest = max(map(len, re.findall(r"`+", inner)), default=0)
    ticks = "`" * (longest + 1)
    space = " " if inner.startswith("`") or inner.endswith("`") else ""
    return f"{ticks}{space}{inner}{space}{ticks}" if inner else ""


def block(text: str) -> str:
    """As lines of their own."""
    inner = _plain(text)
    longest = max(map(len, re.findall(r"`+", inner)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{inner}\n{fence}"


def _plain(text: str) -> str:
    """Nor does it end a comment of ours, by which a description is found again."""
    return "\n".join(map(escaped, text.splitlines())).replace("<!--", "<!-\u200b-")
