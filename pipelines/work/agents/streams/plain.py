"""A program that writes text for people, or lines that are not known to us: its last text is what it claims."""

from __future__ import annotations

from pipelines.work.agents.stream import Stream


class TextStream(Stream):
    """Every line stays log."""

    def read_text_line(self, line: str) -> bool:
        if line.strip():
            self.claim = line.strip()[:1_000]
        return False
