"""Bytes of one stream of running work -> the lines of its log, as a terminal would show them."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field

from pipelines.work.results import terminal
from pipelines.work.results.text import LONGEST_LINE, Masker, escaped_for_storage, line_pieces


@dataclass
class LineCutter:
    """Cutter of one stream of a running job into whole lines. `overwritten`: in how many of them something that could
    be seen was written over, as a terminal does it."""

    masker: Masker
    overwritten: int = 0
    _decoder: codecs.IncrementalDecoder = field(
        # Bytes that are no UTF-8 are written out, not lost
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("backslashreplace")
    )
    _rest: str = ""
    _was_overwritten: bool = False

    def feed_and_return_whole_lines(self, data: bytes, *, final: bool = False) -> list[str]:
        """The lines that `data` completes, without their ends; with `final` also what stands after the last end."""
        text = self.masker.masked_part_of_stream(self._decoder.decode(data, final))
        if final:
            text += self.masker.rest_of_stream()
        *lines, self._rest = (self._rest + text).split("\n")
        lines = [self._displayed_line(line) for line in lines]
        if final and self._rest:
            lines, self._rest = [*lines, self._displayed_line(self._rest)], ""
        elif len(self._rest) > LONGEST_LINE:
            lines += self._cut_off_beginning()
        return [escaped_for_storage(part) for line in lines for part in line_pieces(line)]

    def _cut_off_beginning(self) -> list[str]:
        """Return the part of a line without an end that is too long to be buffered."""
        if terminal.ACTS.search(self._rest):
            line = terminal.rendered_line(self.masker.masked_across_escapes(self._rest))
            self._was_overwritten |= line.overwritten
            is_complete = len(line.text) <= LONGEST_LINE
            self._rest = line.text_that_restores_line(0 if is_complete else LONGEST_LINE)
            return [] if is_complete else [self.masker.masked_text(line.text[:LONGEST_LINE])]
        beginning, self._rest = self._rest[:LONGEST_LINE], self._rest[LONGEST_LINE:]
        return [beginning]

    def _displayed_line(self, line: str) -> str:
        # At the end it belongs to the line end; elsewhere it goes back to the first column
        line = line.removesuffix("\r")
        if not terminal.ACTS.search(line):
            return line
        made = terminal.rendered_line(self.masker.masked_across_escapes(line))
        self.overwritten += made.overwritten or self._was_overwritten
        self._was_overwritten = False
        return self.masker.masked_text(made.text)
