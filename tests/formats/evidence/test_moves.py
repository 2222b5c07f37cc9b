"""Lines that were moved within a file."""

from __future__ import annotations

from pipelines.formats.evidence.trees.moves import other_side_number_by_moved_line
from pipelines.formats.evidence.trees.text_diff import FileSide, diff_hunks, text_diff_or_none

BLOCK = ["def allow(ip):", "    key = address_of(ip)", "    return count(key) < 3"]
REST = [f"value_{number} = {number}" for number in range(12)]


def moved(old: list[str], new: list[str]) -> dict[tuple[str, int], int]:
    lines = text_diff_or_none(FileSide("text", old), FileSide("text", new))
    assert lines is not None
    return other_side_number_by_moved_line([row for hunk in diff_hunks(lines) for row in hunk.rows])


def test_a_block_names_its_other_place() -> None:
    there = moved([*BLOCK, *REST], [*REST, *BLOCK])
    assert there == {
        **{("old", number): 12 + number for number in (1, 2, 3)},
        **{("new", 12 + number): number for number in (1, 2, 3)},
    }


def test_few_letters_are_equal_by_chance() -> None:
    assert moved(["}", "return x", *REST], [*REST, "}", "return x"]) == {}


def test_changed_lines_are_not_moved() -> None:
    other = [line.replace("ip", "address") for line in BLOCK]
    assert ("old", 1) not in moved([*BLOCK, *REST], [*REST, *other])


def test_each_place_is_taken_once() -> None:
    there = moved([*BLOCK, *REST], [*REST, *BLOCK, "between = 1", *BLOCK])
    assert len({number for (side, _line), number in there.items() if side == "old"}) == 3
    assert sum(side == "new" for side, _line in there) == 3
