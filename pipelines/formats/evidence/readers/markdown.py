"""Markdown, kept as the text that it is: a page of ours may render it, and never as HTML of its own."""

from __future__ import annotations

from pipelines.formats.evidence.readers.report import ReadReport, UnreadableReport

KIND = "markdown"
MOST = 200_000


def read_markdown(data: bytes) -> ReadReport:
    """Raises UnreadableReport."""
    if b"\0" in data:
        raise UnreadableReport("no text")
    return ReadReport(KIND, text=data[:MOST].decode("utf-8", "replace"), left=max(0, len(data) - MOST))
