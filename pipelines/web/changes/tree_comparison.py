"""Two stored trees, compared: the files, how many lines each changed by, and the bytes of one of them.

Trees are stored by content, so a comparison never goes stale: a process keeps the last ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any

from django.core.files.storage import storages

from pipelines.formats.evidence.trees import file_kinds
from pipelines.formats.evidence.trees.change_size import files_and_bytes_if_oversized
from pipelines.formats.evidence.trees.line_diff import StepBudget
from pipelines.formats.evidence.trees.text_diff import (
    MOST_BYTES,
    FileSide,
    TextDiff,
    file_side_of_bytes,
    text_diff_or_none,
)
from pipelines.formats.evidence.trees.tree_diff import (
    DELETED,
    EXECUTABLE,
    RENAMED,
    FileChange,
    file_changes,
    pair_renames,
)
from pipelines.work import storage

Entry = dict[str, Any]
COUNTED_BYTES = 64 * 1024 * 1024
"""Of all files together; what lies beyond is listed without its lines."""
# Of comparing lines, over all files together
COUNTED_STEPS = 4_000_000
PICTURE_BYTES = 8 * 1024 * 1024
# Comparisons of one process, each with all its changed files
CACHE_SIZE = 32


@dataclass(frozen=True)
class StoredTree:
    """A manifest, known by its digest. An empty digest is the empty tree."""

    digest: str = ""
    # The digest stands for it where trees are compared, and as key of the cache.
    manifest: tuple[Entry, ...] = field(default=(), compare=False, repr=False)


EMPTY = StoredTree()


def content_mark(entry: Mapping[str, Any]) -> str:
    return str(entry.get("digest") or sha256(str(entry.get("link")).encode()).hexdigest())


@dataclass(frozen=True)
class CountedFile:
    """Changed file. `added`, `removed`: lines, None where nobody counted them. `content` as
    `signatures.content_kind`, of the new side where there is one. `edit`: the same of files whose changed lines are the
    same, "" of one that stands for itself."""

    change: FileChange
    content: str = ""
    added: int | None = None
    removed: int | None = None
    generated: bool = False
    too_large: bool = False
    edit: str = ""

    @property
    def path(self) -> str:
        return self.change.path

    @property
    def content_mark(self) -> str:
        """Name the content that a mark “viewed” is about."""
        content = content_mark(self.change.new or self.change.old or {})
        # Who viewed a content has not viewed that it was deleted.
        return f"-{content}" if self.change.change == DELETED else content


@dataclass(frozen=True)
class TreeComparison:
    old: StoredTree
    new: StoredTree
    files: tuple[CountedFile, ...]

    @property
    def added(self) -> int:
        return sum(file.added or 0 for file in self.files)

    @property
    def removed(self) -> int:
        return sum(file.removed or 0 for file in self.files)

    @property
    def uncounted_count(self) -> int:
        """Files of which nobody counted lines: no text, too large, or beyond what is counted of a tree."""
        return sum(file.added is None for file in self.files)

    @property
    def excess_amount(self) -> dict[str, int]:
        """{files, bytes}, where this is more than a person can read; else empty."""
        return files_and_bytes_if_oversized((file.change.old, file.change.new) for file in self.files)

    def find_file(self, path: str) -> CountedFile | None:
        return self._file_by_path.get(path)

    @cached_property
    def _file_by_path(self) -> dict[str, CountedFile]:
        return {file.path: file for file in self.files}


class StoredBytes:
    """The bytes of entries; all names of the storage are read by one statement."""

    def __init__(self, entries: Iterable[Any]) -> None:
        digests = {str(entry["digest"]) for entry in entries if entry and "digest" in entry}
        self._names = storage.storage_names_by_digest(digests) if digests else {}
        self._storage = storages["artifacts"]

    def read(self, entry: Any, most: int = MOST_BYTES) -> bytes | None:
        """Return at most `most` bytes and one more; None where there is nothing to read."""
        if entry and "link" in entry:
            return str(entry["link"]).encode()
        name = self._names.get(str(entry["digest"])) if entry else None
        if name is None:
            return None
        try:
            with self._storage.open(name, "rb") as file:
                # The one byte more tells that there is more.
                data: bytes = file.read(most + 1)
        except FileNotFoundError:
            return None
        return data


def old_and_new_side_of_file(change: FileChange, stored: StoredBytes) -> tuple[FileSide, FileSide]:
    return _file_side(change.old, stored), _file_side(change.new, stored)


def _file_side(entry: Any, stored: StoredBytes) -> FileSide:
    if entry is None:
        return FileSide()
    size = int(entry.get("size", 0))
    # Of a file that is too large the start alone is read: it tells the kind of content.
    data = stored.read(entry, MOST_BYTES if size <= MOST_BYTES else file_kinds.LEAD)
    return file_side_of_bytes(data if data is not None else b"", size or None)


@lru_cache(CACHE_SIZE)
def compare_trees(old: StoredTree, new: StoredTree) -> TreeComparison:
    """Every changed file, and how many lines of it changed."""
    changes = file_changes(old.manifest, new.manifest)
    stored = StoredBytes(entry for change in changes for entry in (change.old, change.new))
    changes = pair_renames(changes, stored.read)
    room, budget = COUNTED_BYTES, StepBudget(COUNTED_STEPS)
    files = []
    for change in changes:
        size = sum(int(entry.get("size", 0)) for entry in (change.old, change.new) if entry)
        counts = room > 0
        # Each side is read up to MOST_BYTES, however large it is.
        room -= min(size, 2 * MOST_BYTES)
        files.append(_count_file(change, stored, budget) if counts else CountedFile(change))
    return TreeComparison(old, new, tuple(files))


def _count_file(change: FileChange, stored: StoredBytes, budget: StepBudget) -> CountedFile:
    old, new = old_and_new_side_of_file(change, stored)
    # One file may use the usual budget at most; the rest is for the files behind it.
    share = StepBudget(min(budget.steps, StepBudget().steps))
    began = share.steps
    lines = text_diff_or_none(old, new, budget=share)
    budget.steps -= began - share.steps
    # The mark of a generated file stands in its first lines.
    lead = "\n".join((new.lines or old.lines or ())[:20]).encode()
    return CountedFile(
        change,
        content=new.content or old.content,
        added=lines.added_line_count if lines else None,
        removed=lines.removed_line_count if lines else None,
        generated=file_kinds.is_generated(change.path, lead),
        too_large=old.too_large or new.too_large,
        edit=_edit_or_empty(change, lines),
    )


def _edit_or_empty(change: FileChange, lines: TextDiff | None) -> str:
    """Return what is the same of files with the same edit. A file that was moved, or that can be executed since,
    changed by more than its lines."""
    if lines is None or change.change == RENAMED or change.mode_changed or change.is_link:
        return ""
    executable = int((change.new or {}).get("mode", 0)) & EXECUTABLE
    return f"{lines.edit_digest}-{executable}" if lines.edit_digest else ""
