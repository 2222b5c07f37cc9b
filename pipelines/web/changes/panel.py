"""The panel *Changes*: ranges with their counts, the files as a tree, and the one file that is read.

A page of thousands of files carries their names, and the lines of one. Every choice is an address, so that it works
without a script and can be sent to somebody."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

from pipelines.formats.evidence.trees.file_kinds import sensitivity_or_empty
from pipelines.routing.basics.hidden_characters import escape_hidden
from pipelines.templatetags.cuts import PageSlice, page_slice_from
from pipelines.web.changes.file_display import FileView, file_view
from pipelines.web.changes.file_list import ListedFile, ListedFolder, ListedGroup, folders_in_order
from pipelines.web.changes.file_order import ORDERED, EditGroup, order_of_changed_files, sort_key_as_in_tree
from pipelines.web.changes.tree_comparison import CountedFile, StoredTree, TreeComparison, compare_trees
from pipelines.work.results.text import Masker

LISTED = 400
"""Files whose names a page shows."""
# What counts for one page only; no link carries it on, unlike the sticky ones.
ONCE = ("group", "unfold", "whole", "listed", "line", "rows", "long")
STICKY_PARAMETERS = ("range", "view", "space", "find", "under")
OWN = (*STICKY_PARAMETERS, "file", *ONCE)
SPLIT = "split"
Below = Mapping[tuple[str, int], Sequence[Any]]


@dataclass(frozen=True)
class Range:
    """Base of a comparison with the tree under review. `key` is its name in the address."""

    key: str
    label: str
    base: StoredTree


@dataclass(frozen=True)
class RangeTab:
    range: Range
    count: int
    url: str
    current: bool

    @property
    def label(self) -> str:
        return self.range.label


@dataclass
class ChangesPanel:
    """`below(file)` gives what stands below the lines of a file: remarks. `patterns`: of the files that the line calls
    sensitive; none: the usual ones."""

    tree: StoredTree
    ranges: Sequence[Range]
    address: str
    query: QueryDict
    masker: Masker
    patterns: Sequence[str] = ()
    viewed: Collection[tuple[str, str]] = ()
    opened: Collection[tuple[str, str]] = ()
    remarks: Mapping[str, int] = field(default_factory=dict)
    below: Callable[[TreeComparison, CountedFile], Below] | None = None
    writable: bool = False
    unplaced: Sequence[Any] = ()
    below_template: str = ""
    elsewhere_template: str = ""

    def __post_init__(self) -> None:
        range_key = self.query.get("range", "")
        # A range that is not there any more is no error: the first is shown.
        self.range = next((choice for choice in self.ranges if choice.key == range_key), self.ranges[0])
        self.comparison = compare_trees(self.range.base, self.tree)
        self.files = self.comparison.files
        self.find, self.under = self.query.get("find", "").strip(), self.query.get("under", "")
        order = order_of_changed_files(self.range.base, self.tree, tuple(self.patterns))
        self.order = order.matching(lambda file: self._matches(file.path))
        self.matching = self.order.files
        selected_file = self.comparison.find_file(self.query.get("file", ""))
        self.chosen = selected_file or next(iter(self.matching), None)
        self.open_group = self.order.group_with_file_or_none(self.chosen)
        is_group_chosen = bool(self.query.get("group")) or selected_file is None
        self.group = self.open_group if is_group_chosen else None
        if self.group:
            self.chosen = self.group.files[0]
        self.entries = self._listed_entries()
        entry = self.group or self.chosen
        # Place -1: the chosen file does not match the search, so it stands before all that do.
        self.place = next((place for place, other in enumerate(self.entries) if other is entry), -1)

    def _listed_entries(self) -> list[CountedFile | EditGroup]:
        """Return the single files and the groups; behind the group that is read, or of which a file is, its files."""
        entries: list[CountedFile | EditGroup] = [*self.order.singles]
        for group in self.order.groups:
            entries += [group, *(group.files if group is self.open_group else ())]
        return entries

    def _matches(self, path: str) -> bool:
        below = not self.under or path.startswith(f"{self.under}/")
        return below and self.find.casefold() in path.casefold()

    # What the address says

    @property
    def is_split(self) -> bool:
        return self.query.get("view") == SPLIT

    @property
    def ignores_space(self) -> bool:
        return self.query.get("space") == "ignore"

    def url(self, **changed: str) -> str:
        """This page with some of its choices changed; an empty one is left out."""
        # A link leads to a whole page, also from a fragment of one.
        other = [(key, value) for key, value in self.query.items() if key not in (*OWN, "fragment")]
        sticky = {key: str(self.query[key]) for key in STICKY_PARAMETERS if self.query.get(key)}
        # A link to another file leads to that alone.
        file = {"file": self.chosen.path} if self.chosen and "file" not in changed else {}
        group = {"group": "1"} if self.group and "file" not in changed else {}
        parameters = {**sticky, **file, **group, **changed}
        query = urlencode([*other, *((key, value) for key, value in parameters.items() if value)])
        return f"{self.address}?{query}"

    # What the page shows

    @property
    def tabs(self) -> list[RangeTab]:
        return [
            RangeTab(
                choice,
                len(compare_trees(choice.base, self.tree).files),
                self.url(range=choice.key, file=""),
                choice.key == self.range.key,
            )
            for choice in self.ranges
        ]

    @property
    def unified_url(self) -> str:
        return self.url(view="")

    @property
    def split_url(self) -> str:
        return self.url(view=SPLIT)

    @property
    def space_url(self) -> str:
        return self.url(space="" if self.ignores_space else "ignore")

    @property
    def unfold_url(self) -> str:
        return self.url(unfold="1")

    @property
    def full_file_url(self) -> str:
        return self.url(whole="" if self.query.get("whole") else "1")

    @property
    def next_rows_url(self) -> str:
        """The next rows of the file."""
        part = self.file.part if self.file else None
        return self.url(rows=str(part.next), **self._display_parameters) if part and part.next else ""

    @property
    def long_lines_url(self) -> str:
        return self.url(long="1", **self._display_parameters)

    @property
    def _display_parameters(self) -> dict[str, str]:
        return {key: str(self.query[key]) for key in ("unfold", "whole", "long") if self.query.get(key)}

    @property
    def this_url(self) -> str:
        return self.url()

    @property
    def folders(self) -> list[ListedFolder]:
        return self._group_by_folder(self.listed_files.rows)

    @cached_property
    def listed_files(self) -> PageSlice[CountedFile | EditGroup]:
        """The files and groups whose names are shown; what is read is among them."""
        start = self.query.get("listed", "")
        if not start and self.place >= LISTED:
            start = str(self.place - self.place % LISTED)
        return page_slice_from(self.entries, LISTED, start)

    @property
    def more_files_url(self) -> str:
        return self.url(listed=str(self.listed_files.next), file="") if self.listed_files.next else ""

    @property
    def file_alone_url(self) -> str:
        """The shown file of a group, by itself."""
        return self.url(file=self.chosen.path) if self.chosen else ""

    @property
    def beside_filter(self) -> str:
        """Parameters, as JSON, that leave what is read as it is while the list is filtered."""
        return json.dumps(
            {"file": self.chosen.path, "group": "1" if self.group else ""} if self.chosen else {}
        )

    @property
    def all_files_url(self) -> str:
        return self.url(find="", under="", file="")

    @property
    def is_long(self) -> bool:
        """Tell that the list is worth a search."""
        return len(self.files) > ORDERED or bool(self.find or self.under)

    @property
    def search_parameters(self) -> list[tuple[str, str]]:
        """Parameters of the address that the search carries along."""
        return [
            (key, str(value))
            for key, value in self.query.items()
            if key not in ("find", "file", "fragment", *ONCE)
        ]

    @cached_property
    def subfolders(self) -> PageSlice[tuple[str, int, str]]:
        """(name, files, address) of each folder in the one that is shown, where it has more files than are listed."""
        # Few files are found sooner in one list than behind folders
        if len(self.entries) <= LISTED:
            return PageSlice((), 0)
        lead = f"{self.under}/" if self.under else ""
        inner = (file.path[len(lead) :].partition("/") for file in self.matching)
        names = Counter(name for name, slash, _rest in inner if slash)
        rows = [
            (escape_hidden(name), number, self.url(under=f"{lead}{name}", file=""))
            for name, number in sorted(names.items())
        ]
        return page_slice_from(rows, LISTED)

    @cached_property
    def _files_changed_only_since_start(self) -> PageSlice[CountedFile]:
        start = next((choice for choice in self.ranges if choice.key == "start"), None)
        if start is None or start.key == self.range.key:
            return PageSlice((), 0)
        now = {file.path for file in self.files}
        rest = [file for file in compare_trees(start.base, self.tree).files if file.path not in now]
        return page_slice_from(sorted(rest, key=sort_key_as_in_tree), LISTED)

    @property
    def unchanged(self) -> list[ListedFolder]:
        """Files that changed since the start, but not in the range that is shown."""
        return self._group_by_folder(self._files_changed_only_since_start.rows, range="start")

    @property
    def unchanged_cut(self) -> PageSlice[CountedFile]:
        return self._files_changed_only_since_start

    @property
    def start_url(self) -> str:
        return self.url(range="start", file="")

    @property
    def viewed_count(self) -> int:
        return sum((file.path, file.content_mark) in self.viewed for file in self.files)

    @property
    def opened_count(self) -> int:
        """Files that the reader was shown to their end, as the decision counts them."""
        return sum((file.path, file.content_mark) in self.opened for file in self.files)

    @property
    def is_sensitive(self) -> bool:
        return self.chosen is not None and bool(sensitivity_or_empty(self.chosen.path, self.patterns))

    @property
    def is_viewed(self) -> bool:
        return self.chosen is not None and (self.chosen.path, self.chosen.content_mark) in self.viewed

    @cached_property
    def file(self) -> FileView | None:
        if self.chosen is None:
            return None
        return file_view(
            self.chosen,
            self.masker,
            ignore_space=self.ignores_space,
            # A comment is written below a line, so a file that gets one is unfolded.
            unfold=bool(self.query.get("unfold")) or bool(self.side_and_number_of_commented_line_or_none),
            is_full=bool(self.query.get("whole")),
            start=self.query.get("rows", ""),
            long=bool(self.query.get("long")),
            below=self.below(self.comparison, self.chosen) if self.below else None,
            writing=self.side_and_number_of_commented_line_or_none,
        )

    @property
    def side_and_number_of_commented_line_or_none(self) -> tuple[str, int] | None:
        """The line that a comment is being written on: `new-15`."""
        side, _, number = self.query.get("line", "").partition("-")
        # `isdigit` alone is true of “²”, which `int` refuses.
        plain = number.isascii() and number.isdigit() and len(number) < 8
        return (side, int(number)) if self.writable and plain and side in ("new", "old") else None

    @property
    def previous_url(self) -> str:
        return self._entry_url(self.entries[self.place - 1]) if self.place > 0 else ""

    @property
    def next_url(self) -> str:
        # Who has read the edit of a group goes on behind its files.
        after = self.place + 1 + (len(self.group.files) if self.group else 0)
        # With `place` -1 `after` is 0: behind a file that the filter leaves out comes the first that it finds.
        return self._entry_url(self.entries[after]) if after < len(self.entries) else ""

    def _entry_url(self, entry: CountedFile | EditGroup) -> str:
        return self.url(file=entry.path, group="1" if isinstance(entry, EditGroup) else "")

    def _group_by_folder(
        self, entries: Iterable[CountedFile | EditGroup], **changed: str
    ) -> list[ListedFolder]:
        inset = {id(file) for file in self.open_group.files} if self.open_group else set()
        listed = (
            self._listed_group(entry) if isinstance(entry, EditGroup) else self._listed_file(entry, **changed)
            for entry in entries
        )
        return folders_in_order(listed, inset)

    def _listed_group(self, group: EditGroup) -> ListedGroup:
        unopened = sum((file.path, file.content_mark) not in self.opened for file in group.files)
        return ListedGroup(group, self._entry_url(group), group is self.group, unopened * self.writable)

    def _listed_file(self, file: CountedFile, **changed: str) -> ListedFile:
        return ListedFile(
            file,
            self.url(file=file.path, **changed),
            self.group is None and file is self.chosen,
            (file.path, file.content_mark) in self.viewed,
            self.writable and (file.path, file.content_mark) not in self.opened,
            self.remarks.get(file.path, 0),
            sensitivity_or_empty(file.path, self.patterns),
        )
