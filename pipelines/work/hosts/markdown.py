"""Text of others in the Markdown of a host: it is shown as it is, and mentions, closes and hides nothing."""

from __future__ import annotations

import re

from pipelines.work.results.text import escaped_for_storage


def inline_code(text: str) -> str:
    """Return the text as inline code."""
    inner = " ".join(_text_without_comment_mark(text).split())
    longest = max(map(len, re.findall(r"`+", inner)), default=0)
    # One more than the longest run inside: the text cannot end its own code
    ticks = "`" * (longest + 1)
    # A backtick at the edge would join the ticks; Markdown takes one space off each side again
    space = " " if inner.startswith("`") or inner.endswith("`") else ""
    return f"{ticks}{space}{inner}{space}{ticks}" if inner else ""


def code_block(text: str) -> str:
    """Return the text as a code block on lines of its own."""
    inner = _text_without_comment_mark(text)
    longest = max(map(len, re.findall(r"`+", inner)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{inner}\n{fence}"


def _text_without_comment_mark(text: str) -> str:
    """Escape the text so that it does not end a comment of ours either, by which a description is recognized."""
    # A comment of HTML is how a description of ours is recognized: no other text may make one
    return "\n".join(map(escaped_for_storage, text.splitlines())).replace("<!--", "<!-\u200b-")
