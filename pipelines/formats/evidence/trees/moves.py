"""Lines that were taken out in one place of a file and put in at another, as they were."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from pipelines.formats.evidence.trees.text_diff import ADDED, REMOVED, DiffRow

LETTERS = 20
"""Letters and digits that a block has at least: fewer are equal by chance."""
# Places that are tried for one line
TRIED = 8


def other_side_number_by_moved_line(rows: Iterable[DiffRow]) -> dict[tuple[str, int], int]:
    """Return the number of each moved line on the other side, by ("old" or "new", its number)."""
    removed, added, places = {}, {}, defaultdict(list)
    for row in rows:
        if row.kind == REMOVED:
            removed[row.old] = row.text
        elif row.kind == ADDED:
            added[row.new] = row.text
            places[row.text].append(row.new)
    moved: dict[tuple[str, int], int] = {}
    for old, text in removed.items():
        if ("old", old) in moved or not any(map(str.isalnum, text)):
            continue
        # A bound: a line may stand in a file a thousand times
        starts = [new for new in places[text][:TRIED] if ("new", new) not in moved]
        length, new = max(
            ((_moved_block_length_or_zero(removed, added, old, start), start) for start in starts),
            default=(0, 0),
        )
        for offset in range(length):
            moved["old", old + offset] = new + offset
            moved["new", new + offset] = old + offset
    return moved


def _moved_block_length_or_zero(
    removed: Mapping[int, str], added: Mapping[int, str], old: int, new: int
) -> int:
    """Lines that are the same from here on; 0 where they say too little."""
    length, letters = 0, 0
    while (text := removed.get(old + length)) is not None and text == added.get(new + length):
        letters += sum(map(str.isalnum, text))
        length += 1
    return length if letters >= LETTERS else 0
