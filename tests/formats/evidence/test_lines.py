"""Differences by line: true for every pair of texts, and never slow."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.formats.evidence.trees.line_diff import StepBudget, diff_blocks
from pipelines.formats.evidence.trees.remark_location import (
    CHANGED,
    GONE,
    MOVED,
    UNCHANGED,
    RemarkLocation,
    locate_remark,
)
from pipelines.formats.evidence.trees.text_diff import (
    ADDED,
    REMOVED,
    diff_hunks,
    file_side_of_bytes,
    text_diff_or_none,
)
from tests.effort import calls

TEXTS = st.lists(st.sampled_from("abcdefgh"), max_size=30)


@given(TEXTS, TEXTS, st.sampled_from([0, 3, 1000]))
def test_blocks_rebuild_both_texts(old: list[str], new: list[str], steps: int) -> None:
    at_old = at_new = 0
    same = None
    for block in diff_blocks(old, new, StepBudget(steps)):
        assert (block.old, block.new) == (at_old, at_new)
        assert block.same is not same, "two blocks of one kind are one block"
        if block.same:
            assert old[block.old : block.old_end] == new[block.new : block.new_end]
        at_old, at_new, same = block.old_end, block.new_end, block.same
    assert (at_old, at_new) == (len(old), len(new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["a", "b"] * 20_000, ["b", "a", "a"] * 13_000),
        (["x"] * 40_000, ["y", *["x"] * 30_000]),
        ([str(n % 50 * n % 7) for n in range(40_000)], [str(n % 31 * n % 11) for n in range(40_000)]),
        ([str(n) for n in range(40_000)], [str(n) for n in range(40_000, 0, -1)]),
    ],
)
def test_a_hostile_pair_costs_no_more_than_the_budget(old: list[str], new: list[str]) -> None:
    began = time.process_time()
    diff_blocks(old, new)
    assert time.process_time() - began < 5


def rows(old: str, new: str, **options: bool) -> list[str]:
    found = text_diff_or_none(file_side_of_bytes(old.encode()), file_side_of_bytes(new.encode()), **options)
    assert found
    signs = {REMOVED: "-", ADDED: "+"}
    return [signs.get(row.kind, " ") + row.text for hunk in diff_hunks(found) for row in hunk.rows]


def test_a_hunk_has_three_lines_around_it_and_names_its_place() -> None:
    old = "class A:\n" + "".join(f"    {n}\n" for n in range(20))
    found = text_diff_or_none(
        file_side_of_bytes(old.encode()), file_side_of_bytes(old.replace("    9\n", "    nine\n").encode())
    )
    assert found
    [hunk] = diff_hunks(found)
    assert hunk.place == "@@ -8,7 +8,7 @@"
    assert hunk.heading == "class A:"
    assert [row.text.strip() for row in hunk.rows] == ["6", "7", "8", "9", "nine", "10", "11", "12"]
    assert [tuple(row and row.text.strip() for row in pair) for pair in hunk.rows_side_by_side()][3] == (
        "9",
        "nine",
    )


def test_words_that_differ_are_marked_in_lines_that_are_mostly_the_same() -> None:
    found = text_diff_or_none(
        file_side_of_bytes(b'key = f"sign-in:{ip}"\n'), file_side_of_bytes(b'key = f"sign-in:{email}:{ip}"\n')
    )
    assert found
    added = diff_hunks(found)[0].rows[1]
    assert "".join(text for text, changed in added.parts if changed) in ("{email}:", "email}:{")
    assert "".join(text for text, _ in added.parts) == added.text


@pytest.mark.parametrize(
    ("old", "new", "options", "expected"),
    [
        ("a\nb\n", "a\nb\n", {}, []),
        ("", "a\n", {}, ["+a"]),
        ("a\n", "", {}, ["-a"]),
        ("a  b\n", "a b\n", {"ignore_space": True}, []),
        ("a\n", "  a\nb\n", {"ignore_space": True}, ["   a", "+b"]),
        ("a\r\n", "a\n", {}, ["-a\r", "+a"]),
    ],
)
def test_rows_of_small_texts(old: str, new: str, options: dict[str, bool], expected: list[str]) -> None:
    assert rows(old, new, **options) == expected


def test_what_is_no_text_or_too_large_is_not_compared_by_line() -> None:
    assert file_side_of_bytes(b"a\0b").lines is None
    assert file_side_of_bytes(b"\x89PNG\r\n\x1a\n").content == "png"
    assert file_side_of_bytes(b"a\n" * 30_000).too_large
    assert file_side_of_bytes(b"a" * 2_000_000).too_large
    assert text_diff_or_none(file_side_of_bytes(b"a"), file_side_of_bytes(b"\0")) is None
    assert file_side_of_bytes(b"\xff\xfea\0\n\0").lines == ["a"]
    assert file_side_of_bytes(b"caf\xe9\n").lines == ["caf\\xe9"]


def test_a_last_line_without_its_end_is_told() -> None:
    found = text_diff_or_none(file_side_of_bytes(b"a\n"), file_side_of_bytes(b"a"))
    assert found and found.end_changed and not found.added_line_count


@pytest.mark.parametrize(
    ("new", "line", "expected"),
    [
        ("one two three", 2, RemarkLocation(UNCHANGED, 2)),
        ("zero one two three", 2, RemarkLocation(UNCHANGED, 3)),
        ("one TWO three", 2, RemarkLocation(CHANGED, 2)),
        ("one three", 2, RemarkLocation(GONE, 2)),
        ("one three four five", 2, RemarkLocation(GONE, 2)),
        ("second one three", 1, RemarkLocation(UNCHANGED, 2)),
    ],
)
def test_what_became_of_a_line(new: str, line: int, expected: RemarkLocation) -> None:
    assert locate_remark(["one", "two", "three"], new.split(), line) == expected


def test_a_line_that_moved_is_found_where_it_stands_once() -> None:
    assert locate_remark(["alpha = 1", "b", "c", "d"], ["b", "c", "d", "    alpha = 1"], 1) == RemarkLocation(
        MOVED, 4, 1
    )
    twice = locate_remark(["alpha = 1", "b", "c", "d"], ["b", "c", "d", " alpha = 1", "alpha = 1 "], 1)
    assert (twice.state, twice.matches) == (GONE, 2)
    assert locate_remark(["a"], None, 1) == RemarkLocation(GONE, 0)


def test_anchors_are_paid_for() -> None:
    """One line stands once in both at each level, so that each level looks at all that is left."""

    def deep(mark: str) -> list[str]:
        return [line for n in range(300) for line in (f"{mark}{n}", f"u{n + 1}", f"u{n}")] + [mark]

    old, new = deep("a"), deep("b")
    budget = StepBudget(4_000)
    done = calls(lambda: diff_blocks(old, new, budget))
    assert budget.is_spent
    assert done < 3 * len(old + new)
