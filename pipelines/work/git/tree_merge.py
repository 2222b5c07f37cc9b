"""Merging what two sides changed: a file that only one of them changed is that side's, and of one that both changed the
lines are merged, where no change touches the other's. A file that one side renamed is the same file to the other. What
is left is a conflict (law §15)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from stat import S_ISREG
from typing import Any

from dulwich.object_store import BaseObjectStore
from dulwich.objects import S_ISGITLINK, Blob, ObjectID

from pipelines.formats.evidence.trees.line_diff import StepBudget, diff_blocks
from pipelines.formats.evidence.trees.tree_diff import RENAMED, file_changes, pair_renames
from pipelines.work.git.lfs.pointers import parsed_pointer_or_none
from pipelines.work.git.refusals import list_of_first_paths
from pipelines.work.git.trees import Leaf

Files = Mapping[str, Leaf]
Lines = list[bytes]
Edit = tuple[int, int, Lines]
"""Lines [first, end) of the base became these."""
MOST_TEXT = 1024**2
"""Bytes of a file whose lines are merged; a larger one is taken whole."""
MOST_STEPS = 4_000_000
"""Of comparing by line, all files of a merge together."""
LINES, REMOVED, NOT_MERGEABLE, PLACE = (
    "changed the same lines",
    "conflict, as one removed what the other changed",
    "changed what cannot be merged by line, as it is no text or too large",
    "conflict, as a file of one is a folder of the other",
)
"""Why there is a conflict, behind the names of the sides."""
# As git writes them, so that editors know them.
OURS, BASE_END, THEIRS = b"<<<<<<< ", b"=======\n", b">>>>>>> "


class Merger:
    """Merge of two or more sides, one after the other. `blobs`: the files that it made; `conflicts`: those
    that it could not make, each with its reason; `marked`: those of them that hold both sides now, between
    marks."""

    def __init__(self, store: BaseObjectStore) -> None:
        self._store = store
        self._budget = StepBudget(MOST_STEPS)
        self.blobs: dict[ObjectID, Blob] = {}
        self.conflicts: dict[str, str] = {}
        self.marked: dict[str, None] = {}

    def merge_and_collect_conflicts(
        self, base: Files, ours: Files, theirs: Files, names: tuple[str, str]
    ) -> dict[str, Leaf]:
        """Merge both sides. A file in conflict contains both between marks with their `names` where that can
        be done; else it is ours, or the one that is left."""
        for old, new in self._renamed_files(base, ours, theirs):
            base, theirs = _files_with_one_renamed(base, old, new), _files_with_one_renamed(theirs, old, new)
        for old, new in self._renamed_files(base, theirs, ours):
            base, ours = _files_with_one_renamed(base, old, new), _files_with_one_renamed(ours, old, new)
        merged: dict[str, Leaf] = {}
        for path in sorted({*base, *ours, *theirs}):
            was, our, their = base.get(path), ours.get(path), theirs.get(path)
            # Unchanged here: theirs counts, also where it was removed there.
            leaf = their if our == was else our
            if our != was and their not in (was, our):
                leaf = self._merge_file_or_none(path, (was, our, their), names)
            if leaf is not None:
                merged[path] = leaf
        # A file of one side where the other has a folder
        for path in [path for path in merged if any(above in merged for above in _parent_paths(path))]:
            self.conflicts[path] = PLACE
            del merged[path]
        return merged

    def conflicts_in_words(self, names: str) -> str:
        """Say of each reason which files are in conflict for it."""
        by_reason: dict[str, list[str]] = {}
        for path, reason in self.conflicts.items():
            by_reason.setdefault(reason, []).append(path)
        return ". ".join(
            f"{names} {reason}: {list_of_first_paths(paths)}" for reason, paths in by_reason.items()
        )

    def _renamed_files(self, base: Files, side: Files, other: Files) -> Iterator[tuple[str, str]]:
        """Yield the names before and now of what one side renamed, where the other changed the same file: found as
        pages show renames, whatever git of this machine is told."""
        gone = [path for path, leaf in base.items() if path not in side and other.get(path, leaf) != leaf]
        came = [path for path in side if path not in base and path not in other] if gone else []
        changes = file_changes(
            [self._file_entry(path, base[path]) for path in gone],
            [self._file_entry(path, side[path]) for path in came],
        )
        for change in pair_renames(changes, lambda entry: self._blob_bytes_or_none(entry["leaf"])):
            if change.change == RENAMED:
                yield change.was, change.path

    def _file_entry(self, path: str, leaf: Leaf) -> dict[str, Any]:
        blob = self._blob_or_none(leaf) if S_ISREG(leaf[0]) else None
        size = blob.raw_length() if blob else 0
        return {"path": path, "mode": leaf[0], "digest": leaf[1].decode(), "size": size, "leaf": leaf}

    def _blob_bytes_or_none(self, leaf: Leaf) -> bytes | None:
        blob = self._blob_or_none(leaf)
        return blob.data if blob else None

    def _blob_or_none(self, leaf: Leaf) -> Blob | None:
        if S_ISGITLINK(leaf[0]):
            return None
        # What was merged with the side before is in no store yet
        blob = self.blobs.get(leaf[1]) or self._store[leaf[1]]
        return blob if isinstance(blob, Blob) else None

    def _merge_file_or_none(
        self, path: str, leaves: tuple[Leaf | None, Leaf | None, Leaf | None], names: tuple[str, str]
    ) -> Leaf | None:
        was, our, their = leaves
        texts = [self._text_lines_or_none(leaf) if leaf else [] for leaf in leaves]
        if our is None or their is None or any(text is None for text in texts):
            self.conflicts[path] = REMOVED if our is None or their is None else NOT_MERGEABLE
            return our or their
        base, left, right = (text or [] for text in texts)
        merged, clean = merged_lines_and_is_clean(base, left, right, names, self._budget)
        if not clean:
            self.conflicts[path], self.marked[path] = LINES, None
        blob = Blob.from_string(b"".join(merged))
        self.blobs[blob.id] = blob
        # The mode is that of the side which changed it, ours first.
        return (their[0] if was and our[0] == was[0] else our[0], blob.id)

    def _text_lines_or_none(self, leaf: Leaf) -> Lines | None:
        """None of what is no text, or too large."""
        if not S_ISREG(leaf[0]):
            return None
        blob = self._blob_or_none(leaf)
        # As git tells: a NUL in the first 8,000 bytes makes it no text.
        if blob is None or blob.raw_length() > MOST_TEXT or b"\x00" in blob.data[:8000]:
            return None
        # A pointer of LFS whose lines are merged would stand for nothing
        if parsed_pointer_or_none(blob.data) is not None:
            return None
        return blob.data.splitlines(keepends=True)


def _files_with_one_renamed(files: Files, was: str, now: str) -> Files:
    """Return the files with one of them under another name."""
    return {now if path == was else path: leaf for path, leaf in files.items()}


def merged_lines_and_is_clean(
    base: Lines, ours: Lines, theirs: Lines, names: tuple[str, str], budget: StepBudget
) -> tuple[Lines, bool]:
    """The lines after both changes, and whether that is without a conflict. Changes that touch each other are one,
    unless both sides made the same."""
    left, right = _changed_blocks(base, ours, budget), _changed_blocks(base, theirs, budget)
    merged: Lines = []
    at, clean = 0, True
    while left or right:
        first, end = min(side[0][:2] for side in (left, right) if side)
        parts: tuple[list[Edit], list[Edit]] = ([], [])
        grown = True
        while grown:
            grown = False
            for edits, part in ((left, parts[0]), (right, parts[1])):
                # `<=`: changes with no line between them are one.
                while edits and edits[0][0] <= end and edits[0][1] >= first:
                    part.append(edits.pop(0))
                    end, grown = max(end, part[-1][1]), True
        merged += base[at:first]
        sides = [_lines_with_edits(base, first, end, part) for part in parts]
        if not parts[0] or not parts[1] or sides[0] == sides[1]:
            merged += sides[0] if parts[0] else sides[1]
        else:
            clean = False
            merged += _lines_with_conflict_marks(sides[0], sides[1], names)
        at = end
    return merged + base[at:], clean


def _changed_blocks(base: Lines, new: Lines, budget: StepBudget) -> list[Edit]:
    changed = [block for block in diff_blocks(base, new, budget) if not block.same]
    return [(block.old, block.old_end, new[block.new : block.new_end]) for block in changed]


def _lines_with_edits(base: Lines, first: int, end: int, edits: Sequence[Edit]) -> Lines:
    applied: Lines = []
    for begin, stop, lines in edits:
        applied += base[first:begin] + lines
        first = stop
    return applied + base[first:end]


def _lines_with_conflict_marks(ours: Lines, theirs: Lines, names: tuple[str, str]) -> Lines:
    left, right = (name.encode() + b"\n" for name in names)
    return [OURS + left, *_lines_each_ended(ours), BASE_END, *_lines_each_ended(theirs), THEIRS + right]


def _lines_each_ended(lines: Lines) -> Lines:
    # A mark begins on a line of its own.
    return [line if line.endswith(b"\n") else line + b"\n" for line in lines]


def has_conflict_marks(data: bytes) -> bool:
    """Return whether a conflict was left as it is."""
    lines = data.splitlines(keepends=True)
    # A row of = alone underlines a heading in many texts
    return any(line.startswith(OURS) for line in lines) and BASE_END in lines


def _parent_paths(path: str) -> list[str]:
    return [path[:place] for place, letter in enumerate(path) if letter == "/"]
