"""Rows of the list of changed files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from pipelines.formats.evidence.trees.file_kinds import BUILD, CI, LISTED, TESTS
from pipelines.formats.evidence.trees.tree_diff import ADDED, DELETED, MODE, RENAMED
from pipelines.routing.basics.hidden_characters import escape_hidden
from pipelines.web.changes.file_order import EditGroup
from pipelines.web.changes.tree_comparison import CountedFile

CHANGES = {
    ADDED: ("added", "A"),
    DELETED: ("deleted", "D"),
    RENAMED: ("renamed", "R"),
    MODE: ("permissions changed", "P"),
}
SENSITIVE = {TESTS: "Tests", BUILD: "Build", CI: "CI", LISTED: "Sensitive"}


@dataclass(frozen=True)
class ListedFile:
    counted: CountedFile
    url: str
    current: bool
    viewed: bool
    # Not yet shown to its end to a reader who may decide
    unopened: bool = False
    remarks: int = 0
    sensitivity: str = ""

    @property
    def name(self) -> str:
        return escape_hidden(self.counted.path.rpartition("/")[2])

    @property
    def path(self) -> str:
        return escape_hidden(self.counted.path)

    @property
    def change_word(self) -> str:
        return str(CHANGES[self.counted.change.change][0]) if self.counted.change.change in CHANGES else ""

    @property
    def sensitivity_label(self) -> str:
        return str(SENSITIVE[self.sensitivity]) if self.sensitivity else ""


@dataclass(frozen=True)
class ListedGroup:
    group: EditGroup
    url: str
    current: bool
    # Files of it that a reader who may decide was not shown
    unopened_count: int

    @property
    def sensitivity_label(self) -> str:
        return str(SENSITIVE[self.group.sensitivity]) if self.group.sensitivity else ""


@dataclass(frozen=True)
class ListedFolder:
    """Part of the list: a group, or files of one folder; `inset`: of the group above them."""

    name: str
    files: Sequence[ListedFile]
    group: ListedGroup | None = None
    inset: bool = False


def folders_in_order(rows: Iterable[ListedFile | ListedGroup], inset: Collection[int]) -> list[ListedFolder]:
    """Return the rows in their order, files of one folder that follow each other together.

    :param inset: ids of the files that stand below their group"""
    folders: list[ListedFolder] = []
    for (folder, is_inset), same in groupby(rows, lambda row: _folder_and_inset_or_none(row, inset)):
        if folder is None:
            folders += [ListedFolder("", (), row) for row in same if isinstance(row, ListedGroup)]
        else:
            files = [row for row in same if isinstance(row, ListedFile)]
            folders.append(ListedFolder(escape_hidden(folder), files, inset=is_inset))
    return folders


def _folder_and_inset_or_none(
    row: ListedFile | ListedGroup, inset: Collection[int]
) -> tuple[str | None, bool]:
    """None of a group, which stands in no folder."""
    if isinstance(row, ListedGroup):
        return None, False
    return row.counted.path.rpartition("/")[0], id(row.counted) in inset
