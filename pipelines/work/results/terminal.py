"""Reading one line as a terminal shows it in the end: what acts on the cursor moves it, what is written over is gone,
colours and titles are left out. Movements to other lines do not lead out of this one. Pure."""

from __future__ import annotations

import re
from typing import Final

from pipelines.work.results.text import ESCAPE

ACTS: Final = re.compile("[\b\r\x1b]")
"""What makes a line another than it reads."""
_TOKENS: Final = re.compile(rf"(\r|\x08|\t|{ESCAPE.pattern})")
# `ESC [ 2 K`, `ESC [ 1 ; 40 H`: up to two numbers that count, and what is done
_SEQUENCE: Final = re.compile(r"\x1b\[(\d{0,6})(?:;(\d{0,6}))?[\d;]*([A-Za-z@`])")
TAB: Final = 8
WIDEST: Final = 16 * 1024
"""Columns to which a sequence may move, or push what stands behind it."""


class TerminalLine:
    """A line that is being written. `overwritten`: whether something that could be seen was taken back."""

    def __init__(self) -> None:
        self._cells: list[str] = []
        self._column = 0
        self.overwritten = False

    def write(self, text: str) -> None:
        for part in _TOKENS.split(text):
            if part == "\r":
                self._column = 0
            elif part == "\b":
                self._column = max(self._column - 1, 0)
            elif part == "\t":
                self._column = (self._column // TAB + 1) * TAB
            elif part.startswith("\x1b") and (sequence := _SEQUENCE.fullmatch(part)):
                self._apply_escape_sequence(sequence[3], sequence[1], sequence[2] or "")
            elif part and not ESCAPE.fullmatch(part):
                self._overwrite_at_cursor(part)

    @property
    def text(self) -> str:
        return "".join(self._cells).rstrip(" ")

    def text_that_restores_line(self, after: int = 0) -> str:
        """Return what brings an empty line to where this one is, without so many characters of its beginning."""
        return f"{self.text[after:]}\x1b[{max(self._column - after, 0) + 1}G"

    def _overwrite_at_cursor(self, part: str) -> None:
        self._cells += " " * (self._column - len(self._cells))
        self._replace_characters(self._column, self._column + len(part), part)
        self._column += len(part)

    def _replace_characters(self, start: int, end: int, part: str) -> None:
        """Put these characters in the place of those from `start` to `end`."""
        if not self.overwritten and (before := "".join(self._cells[start:end])):
            after = part.ljust(len(before))
            self.overwritten = not after.startswith(before) and any(
                old not in (" ", new) for old, new in zip(before, after, strict=False)
            )
        self._cells[start:end] = part

    def _apply_escape_sequence(self, action: str, first: str, second: str) -> None:
        number = int(first or 0)
        count, column = max(number, 1), self._column
        moves = {"C": column + count, "a": column + count, "D": column - count}
        # H and f name a row and a column: the row is left out
        places = {"G": count, "`": count, "H": int(second or 1), "f": int(second or 1), "E": 1, "F": 1}
        if action in moves or action in places:
            self._column = min(max(moves.get(action, places.get(action, 1) - 1), 0), WIDEST)
        # Erase: 0 from here to the end, 1 from the beginning to here, 2 all
        elif action in "KJ":
            start, end = (0 if number else column), (column + 1 if number == 1 else len(self._cells))
            self._replace_characters(
                start, end, " " * (min(end, len(self._cells)) - start) if number == 1 else ""
            )
        # X makes blanks; P takes characters out, and @ pushes them on
        elif action == "X":
            self._replace_characters(
                column, column + count, " " * max(min(count, len(self._cells) - column), 0)
            )
        elif action == "P":
            self._replace_characters(column, column + count, "")
        elif action == "@":
            self._cells[column:column] = " " * min(count, max(WIDEST - len(self._cells), 0))


def rendered_line(line: str) -> TerminalLine:
    """A whole line as a terminal has it in the end."""
    made = TerminalLine()
    made.write(line)
    return made
