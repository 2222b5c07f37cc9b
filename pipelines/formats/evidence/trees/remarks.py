"""Fate of a line that somebody remarked on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.formats.evidence.trees.lines import blocks

UNCHANGED, CHANGED, GONE, MOVED = "unchanged", "changed", "gone", "moved"
MIN_DISTINCTIVE = 4
"""Characters that a line needs to be known again elsewhere."""


@dataclass(frozen=True, slots=True)
class Fate:
    """`line`: where the line is now, or where the remark is shown; 0 where the file is gone. `matches`: how many lines
    elsewhere say what a line said that is gone; with more than one nobody knows which it became."""

    state: str
    line: int
    matches: int = 0


def fate(old: Sequence[str] | None, new: Sequence[str] | None, line: int) -> Fate:
    """`line` counts from 1, in the old text. None: there is no such file, or it has no lines."""
    if new is None or old is None or not 1 <= line <= len(old):
        return Fate(GONE, 0)
    place = line - 1
    for block in blocks(old, new):
        if not block.old <= place < block.old_end:
            continue
        if block.same:
            return Fate(UNCHANGED, block.new + place - block.old + 1)
        elsewhere = [
            index + 1
            for other in blocks(old, new)
            if not other.same
            for index in range(other.new, other.new_end)
            if new[index].strip() == old[place].strip()
        ]
        if len(old[place].strip()) >= MIN_DISTINCTIVE and len(elsewhere) == 1:
            return Fate(MOVED, elsewhere[0], 1)
        if block.new_end > block.new:
            return Fate(CHANGED, min(block.new + place - block.old, block.new_end - 1) + 1, len(elsewhere))
        return Fate(GONE, min(block.new + 1, len(new)), len(elsewhere))
    return Fate(GONE, 0)
