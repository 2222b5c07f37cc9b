"""Order in which a reader meets changed files: of many, the unusual ones first, and files with the same edit as one
group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from pipelines.formats.evidence.trees.file_kinds import TESTS, sensitivity_or_empty
from pipelines.web.changes.tree_comparison import CountedFile, StoredTree, compare_trees

ORDERED: Final = 20
"""Files beyond which the unusual ones come first; up to it they stand by their folders."""
SAME_EDITS: Final = 5
"""Files that make a group, or a usual shape, at least."""
MAX_GROUP: Final = 2000
"""Files of one group: all are recorded as opened by one statement."""
CACHE_SIZE: Final = 32


@dataclass(frozen=True)
class EditGroup:
    """Files of which the same lines were removed and added; the edit is shown once, as in the first."""

    files: Sequence[CountedFile]
    sensitivity: str = ""

    @property
    def path(self) -> str:
        return self.files[0].path


@dataclass(frozen=True)
class FileOrder:
    """`singles`: files that belong to no group. They come first."""

    singles: Sequence[CountedFile]
    groups: Sequence[EditGroup] = ()

    def matching(self, is_match: Callable[[CountedFile], bool]) -> FileOrder:
        """Return the files that match; those of a group of which few do are single."""
        singles, groups = [*filter(is_match, self.singles)], []
        for group in self.groups:
            files = [*filter(is_match, group.files)]
            if len(files) < SAME_EDITS:
                singles += files
            else:
                groups.append(EditGroup(files, group.sensitivity))
        return FileOrder(singles, groups)

    def group_with_file_or_none(self, file: CountedFile | None) -> EditGroup | None:
        if file is None:
            return None
        return next((group for group in self.groups if any(file is other for other in group.files)), None)

    @property
    def files(self) -> list[CountedFile]:
        return [*self.singles, *(file for group in self.groups for file in group.files)]


@lru_cache(CACHE_SIZE)
def order_of_changed_files(old: StoredTree, new: StoredTree, patterns: tuple[str, ...]) -> FileOrder:
    """`patterns`: of the files that the line calls sensitive."""
    files = sorted(compare_trees(old, new).files, key=sort_key_as_in_tree)
    if len(files) <= ORDERED:
        return FileOrder(files)
    kinds = {file.path: sensitivity_or_empty(file.path, patterns) for file in files}
    by_edit: dict[tuple[Any, ...], list[CountedFile]] = {}
    for file in files:
        if file.edit:
            # What checks the rest is a group of its own, so that it keeps its mark.
            key = (file.edit, file.change.change, file.generated, kinds[file.path])
            by_edit.setdefault(key, []).append(file)
    groups = [
        EditGroup(same[start : start + MAX_GROUP], kinds[same[0].path])
        for same in by_edit.values()
        if len(same) >= SAME_EDITS
        for start in range(0, len(same), MAX_GROUP)
    ]
    grouped = {file.path for group in groups for file in group.files}
    singles = [file for file in files if file.path not in grouped]
    shapes = Counter(map(_traits_of_files_changed_alike, singles))
    singles.sort(
        key=lambda file: _sort_key_of_unusual_files_first(
            file, kinds[file.path], shapes[_traits_of_files_changed_alike(file)]
        )
    )
    # The rarest edit first
    return FileOrder(singles, sorted(groups, key=lambda group: len(group.files)))


def sort_key_as_in_tree(file: CountedFile) -> tuple[tuple[bool, str], ...]:
    """Sort files as a tree shows them: in each folder its folders before its files."""
    *folders, name = file.path.split("/")
    return *((False, folder) for folder in folders), (True, name)


def _traits_of_files_changed_alike(file: CountedFile) -> tuple[Any, ...]:
    """Return what files of one sweeping change have in common, although their lines differ."""
    return file.change.change, file.path.rpartition(".")[2], file.added, file.removed


def _sort_key_of_unusual_files_first(file: CountedFile, sensitivity: str, alike: int) -> tuple[Any, ...]:
    """Sort what decides whether the rest is checked before what few are like, and the largest of these first."""
    is_check = sensitivity not in ("", TESTS)
    # Of a file without counted lines nobody knows how much of it changed.
    lines = float("inf") if file.added is None else file.added + (file.removed or 0)
    return not is_check, alike >= SAME_EDITS, file.generated, -lines, sort_key_as_in_tree(file)
