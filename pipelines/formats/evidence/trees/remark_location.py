"""Fate of a line that somebody remarked on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.formats.evidence.trees.line_diff import diff_blocks

UNCHANGED, CHANGED, GONE, MOVED = "unchanged", "changed", "gone", "moved"
MIN_DISTINCTIVE = 4
"""Characters that a line needs to be known again elsewhere."""


@dataclass(frozen=True, slots=True)
class RemarkLocation:
    """Place of a remarked line in the new text. `line`: where it is now, or where the remark is displayed; 0
    where the file is gone. `matches`: how many lines elsewhere have the text of a line that is gone; with
    more than one it is not known which it became."""

    state: str
    line: int
    matches: int = 0


def locate_remark(old: Sequence[str] | None, new: Sequence[str] | None, line: int) -> RemarkLocation:
    """`line` counts from 1, in the old text. None: there is no such file, or it has no lines."""
    if new is None or old is None or not 1 <= line <= len(old):
        return RemarkLocation(GONE, 0)
    place = line - 1
    for block in diff_blocks(old, new):
        if not block.old <= place < block.old_end:
            continue
        if block.same:
            return RemarkLocation(UNCHANGED, block.new + place - block.old + 1)
        elsewhere = [
            index + 1
            for other in diff_blocks(old, new)
            if not other.same
            for index in range(other.new, other.new_end)
            if new[index].strip() == old[place].strip()
        ]
        # A short line, or one that stands in several places, may be another one
        if len(old[place].strip()) >= MIN_DISTINCTIVE and len(elsewhere) == 1:
            return RemarkLocation(MOVED, elsewhere[0], 1)
        if block.new_end > block.new:
            return RemarkLocation(
                CHANGED, min(block.new + place - block.old, block.new_end - 1) + 1, len(elsewhere)
            )
        return RemarkLocation(GONE, min(block.new + 1, len(new)), len(elsewhere))
    return RemarkLocation(GONE, 0)
