"""A file as the rows that people read: hunks of unchanged, removed and added lines, in one column or in two."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from pipelines.formats.evidence.trees.line_diff import LineBlock, StepBudget, diff_blocks
from pipelines.routing.basics.file_signatures import BINARY, TEXT, content_kind

CONTEXT = 3
MOST_LINES = 20_000
MOST_BYTES = 1024 * 1024
"""Of one side; beyond it a file is too large to compare line by line."""
LONGEST = 1000
"""Characters of a line that are shown."""
WORDS_IN = 400
"""Characters of a line whose words are compared."""
SAME, REMOVED, ADDED = "same", "removed", "added"
# A line that begins in the first column, as that of a function or class does
_HEADING = re.compile(r"[A-Za-z_$#@]")
_WORD = re.compile(r"\w+|\s+|.")


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A line with its numbers, counted from 1, 0 where a side does not have it. `parts`: (text, changed)."""

    kind: str
    old: int
    new: int
    text: str
    parts: tuple[tuple[str, bool], ...] = ()
    cut: bool = False


@dataclass(frozen=True)
class Hunk:
    old: int
    old_count: int
    new: int
    new_count: int
    rows: tuple[DiffRow, ...]
    heading: str = ""

    @property
    def place(self) -> str:
        return f"@@ -{self.old},{self.old_count} +{self.new},{self.new_count} @@"

    def rows_side_by_side(self) -> Iterator[tuple[DiffRow | None, DiffRow | None]]:
        """Yield the rows side by side: what was removed beside what was added in its place."""
        removed: list[DiffRow] = []
        added: list[DiffRow] = []
        # One more at the end, so that the last pairs come, too
        for row in [*self.rows, None]:
            if row is not None and row.kind != SAME:
                (removed if row.kind == REMOVED else added).append(row)
                continue
            for index in range(max(len(removed), len(added))):
                yield (
                    removed[index] if index < len(removed) else None,
                    added[index] if index < len(added) else None,
                )
            removed, added = [], []
            if row is not None:
                yield row, row


@dataclass(frozen=True)
class TextDiff:
    """`exact`: whether the budget lasted; otherwise more than had to is shown as changed. `end_changed`: one side ends
    without a newline."""

    blocks: tuple[LineBlock, ...]
    old: Sequence[str]
    new: Sequence[str]
    exact: bool
    end_changed: bool = False

    @property
    def added_line_count(self) -> int:
        return sum(block.new_end - block.new for block in self.blocks if not block.same)

    @property
    def removed_line_count(self) -> int:
        return sum(block.old_end - block.old for block in self.blocks if not block.same)

    @property
    def edit_digest(self) -> str:
        """Digest of the lines that were removed and added, in order, wherever they stand; "" where nothing or not
        everything is known of them."""
        if not self.exact or self.end_changed or not (self.added_line_count or self.removed_line_count):
            return ""
        digest = sha256()
        for block in self.blocks:
            if not block.same:
                removed, added = self.old[block.old : block.old_end], self.new[block.new : block.new_end]
                # With their numbers, so that no line is taken for one of the other side
                digest.update(f"{len(removed)} {len(added)}\n".encode())
                digest.update("".join(f"{line}\n" for line in (*removed, *added)).encode())
        return digest.hexdigest()


@dataclass(frozen=True)
class FileSide:
    """Side of a file comparison. `lines` is None where the content is no text, or too large."""

    content: str = ""
    lines: Sequence[str] | None = ()
    ends_open: bool = field(default=False)
    too_large: bool = False


def file_side_of_bytes(data: bytes | None, size: int | None = None) -> FileSide:
    """`data`: the bytes, or None where there is no file. `size` may be more than what was read."""
    if data is None:
        return FileSide()
    content = content_kind(data[:1024])
    if content != TEXT:
        return FileSide(content, None)
    if (size or len(data)) > MOST_BYTES:
        return FileSide(content, None, too_large=True)
    text = _decoded_text_or_none(data)
    if text is None:
        return FileSide(BINARY, None)
    # Not splitlines: to git a form feed, or a separator of Unicode, ends no line
    lines = text.split("\n")
    ends_open = lines[-1] != ""
    if not ends_open:
        lines.pop()
    if len(lines) > MOST_LINES:
        return FileSide(content, None, too_large=True)
    return FileSide(content, lines, ends_open)


def _decoded_text_or_none(data: bytes) -> str | None:
    # The byte order marks of UTF-16, whose text is full of NUL
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    return None if b"\0" in data else data.decode("utf-8", "backslashreplace")


def text_diff_or_none(
    old: FileSide, new: FileSide, *, ignore_space: bool = False, budget: StepBudget | None = None
) -> TextDiff | None:
    """None where one side has no lines."""
    if old.lines is None or new.lines is None:
        return None
    budget = budget or StepBudget()
    a: Sequence[str] = old.lines
    b: Sequence[str] = new.lines
    if ignore_space:
        a, b = ["".join(line.split()) for line in a], ["".join(line.split()) for line in b]
    line_blocks = diff_blocks(a, b, budget)
    open_ends = bool(old.content and new.content) and old.ends_open != new.ends_open and not ignore_space
    return TextDiff(tuple(line_blocks), old.lines, new.lines, not budget.is_spent, open_ends)


def diff_hunks(lines: TextDiff, context: int = CONTEXT, longest: int = LONGEST) -> list[Hunk]:
    """The changed blocks with lines around them; what is close stands together. `longest`: characters of a line."""
    groups: list[list[LineBlock]] = []
    for index, block in enumerate(lines.blocks):
        if block.same:
            continue
        close = (
            bool(groups)
            and index > 0
            and lines.blocks[index - 1].same
            # Nearer than the context of both, the lines between would be shown twice.
            and lines.blocks[index - 1].old_end - lines.blocks[index - 1].old <= 2 * context
        )
        if close:
            groups[-1] += [lines.blocks[index - 1], block]
        else:
            groups.append([block])
    return [_hunk_with_cut_lines(_diff_hunk(lines, group, context), longest) for group in groups]


def _diff_hunk(lines: TextDiff, group: list[LineBlock], context: int) -> Hunk:
    first, last = group[0], group[-1]
    lead = min(context, first.old, first.new)
    tail = min(context, len(lines.old) - last.old_end, len(lines.new) - last.new_end)
    old, new = first.old - lead, first.new - lead
    rows = [*_same_rows(lines, old, new, lead)]
    for block in group:
        rows += (
            _same_rows(lines, block.old, block.new, block.old_end - block.old)
            if block.same
            else _changed_rows(lines, block)
        )
    rows += _same_rows(lines, last.old_end, last.new_end, tail)
    old_end, new_end = last.old_end + tail, last.new_end + tail
    heading = next(
        (line for line in reversed(lines.new[max(0, new - 400) : new]) if _HEADING.match(line)), ""
    )
    return Hunk(old + 1, old_end - old, new + 1, new_end - new, tuple(rows), heading[:100])


def _same_rows(lines: TextDiff, old: int, new: int, count: int) -> Iterator[DiffRow]:
    for offset in range(count):
        yield _diff_row(SAME, old + offset + 1, new + offset + 1, lines.new[new + offset])


def _changed_rows(lines: TextDiff, block: LineBlock) -> Iterator[DiffRow]:
    olds, news = lines.old[block.old : block.old_end], lines.new[block.new : block.new_end]
    # With as many lines on both sides each stands beside the one that it replaces
    paired = (
        [_differing_parts_of_both_lines(a, b) for a, b in zip(olds, news, strict=False)]
        if len(olds) == len(news)
        else []
    )
    for index, text in enumerate(olds):
        yield _diff_row(REMOVED, block.old + index + 1, 0, text, paired[index][0] if paired else ())
    for index, text in enumerate(news):
        yield _diff_row(ADDED, 0, block.new + index + 1, text, paired[index][1] if paired else ())


def _diff_row(kind: str, old: int, new: int, text: str, parts: tuple[tuple[str, bool], ...] = ()) -> DiffRow:
    text = text.removesuffix("\r") if not parts else text
    return DiffRow(kind, old, new, text, parts or ((text, False),))


def _hunk_with_cut_lines(hunk: Hunk, longest: int) -> Hunk:
    rows = (
        replace(row, text=row.text[:longest], parts=((row.text[:longest], False),), cut=True)
        if len(row.text) > longest
        else row
        for row in hunk.rows
    )
    return replace(hunk, rows=tuple(rows))


def _differing_parts_of_both_lines(
    old: str, new: str
) -> tuple[tuple[tuple[str, bool], ...], tuple[tuple[str, bool], ...]]:
    """Return where two lines differ, word by word; nothing where most of them do."""
    if old.removesuffix("\r") == new.removesuffix("\r"):
        return tuple(
            ((text.removesuffix("\r"), False), ("\\r", True)) if text.endswith("\r") else ((text, False),)
            for text in (old, new)
        )  # type: ignore[return-value]
    if max(len(old), len(new)) > WORDS_IN:
        return (), ()
    a, b = _WORD.findall(old.removesuffix("\r")), _WORD.findall(new.removesuffix("\r"))
    word_blocks = diff_blocks(a, b, StepBudget(20_000))
    common_length = sum(
        len("".join(a[block.old : block.old_end]).strip()) for block in word_blocks if block.same
    )
    # With less than a third in common, single words would say nothing.
    if common_length * 3 < max(len(old.strip()), len(new.strip())):
        return (), ()
    return (
        tuple(
            ("".join(a[block.old : block.old_end]), not block.same)
            for block in word_blocks
            if block.old_end > block.old
        ),
        tuple(
            ("".join(b[block.new : block.new_end]), not block.same)
            for block in word_blocks
            if block.new_end > block.new
        ),
    )
