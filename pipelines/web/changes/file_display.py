"""Display of one file of a comparison: its hunks, or why there are none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

from pipelines.formats.evidence.trees.file_kinds import PICTURES
from pipelines.formats.evidence.trees.moves import other_side_number_by_moved_line
from pipelines.formats.evidence.trees.syntax import Spans, colour_spans
from pipelines.formats.evidence.trees.text_diff import (
    CONTEXT,
    LONGEST,
    DiffRow,
    FileSide,
    Hunk,
    diff_hunks,
    text_diff_or_none,
)
from pipelines.formats.evidence.trees.tree_diff import ADDED, DELETED
from pipelines.routing.basics.hidden_characters import escape_hidden
from pipelines.templatetags.cuts import PageSlice, page_slice_from
from pipelines.web.changes.tree_comparison import (
    PICTURE_BYTES,
    CountedFile,
    StoredBytes,
    old_and_new_side_of_file,
)
from pipelines.work.results.text import Masker

FOLDED_LINES = 1500
"""Changed lines beyond which a file is folded until somebody asks for it."""
SHOWN_ROWS = 4000
# In place of a limit: lines of context, and characters of a line
UNLIMITED = 1_000_000
SIGNS = {"added": "+", "removed": "−", "same": ""}


@dataclass(frozen=True)
class DiffCell:
    """A row of one column with what stands below it. `side`: whose line number a remark on it names."""

    row: DiffRow
    below: Sequence[Any] = ()
    writing: bool = False
    spans: Spans = ()
    # Number of the same line on the other side, to which or from which it was moved, or 0
    moved: int = 0
    # First of the lines that were moved together
    begins_move: bool = False

    @property
    def side(self) -> str:
        return "new" if self.row.new else "old"

    @property
    def number(self) -> int:
        return self.row.new or self.row.old

    @property
    def anchor(self) -> str:
        return f"{self.side}-{self.number}"

    @property
    def sign(self) -> str:
        return SIGNS[self.row.kind]

    @property
    def text(self) -> SafeString:
        """Its characters, none of them markup; what differs inside the line is marked."""
        tag = "ins" if self.row.kind == "added" else "del"
        parts, at = [], 0
        for text, changed in self.row.parts:
            part = self._coloured(text, at)
            # The name of the tag alone is put in beforehand; the text is escaped.
            parts.append(format_html(f"<{tag}>{{}}</{tag}>", part) if changed else part)
            at += len(text)
        return format_html("{}…" if self.row.cut else "{}", SafeString("".join(parts)))

    def _coloured(self, text: str, at: int) -> SafeString:
        """A part of the line that begins at this character, in the colours of its language."""
        pieces, done = [], 0
        for start, end, kind in self.spans:
            first, last = max(start - at, done), min(end - at, len(text))
            if first >= last:
                continue
            pieces.append(escape(escape_hidden(text[done:first])))
            pieces.append(
                format_html('<span class="code-{}">{}</span>', kind, escape_hidden(text[first:last]))
            )
            done = last
        pieces.append(escape(escape_hidden(text[done:])))
        return SafeString("".join(pieces))

    @property
    def kind(self) -> str:
        return "moved" if self.moved else self.row.kind

    @property
    def move_link(self) -> SafeString:
        """Link to where the lines that begin here were moved from or to; nothing at others."""
        if not self.begins_move:
            return SafeString("")
        side, words = ("old", "Moved from line") if self.row.new else ("new", "Moved to line")
        link = '<a class="diff-move" href="#{}-{}">{} {}</a>'
        return format_html(link, side, self.moved, words, self.moved)


@dataclass(frozen=True)
class HunkView:
    hunk: Hunk
    below: Mapping[tuple[str, int], Sequence[Any]] = field(default_factory=dict)
    writing: tuple[str, int] | None = None
    colours: Mapping[str, Sequence[Spans]] = field(default_factory=dict)
    moved: Mapping[tuple[str, int], int] = field(default_factory=dict)

    @property
    def place(self) -> str:
        return self.hunk.place

    @property
    def heading(self) -> str:
        return escape_hidden(self.hunk.heading)

    @property
    def cells(self) -> Iterator[DiffCell]:
        for row in self.hunk.rows:
            yield self._cell(row)

    @property
    def cells_side_by_side(self) -> Iterator[tuple[DiffCell | None, DiffCell | None]]:
        for old, new in self.hunk.rows_side_by_side():
            if old is not None and old is new:
                # An unchanged line stands on both sides; what is below it is shown once.
                yield replace(self._cell(old), below=(), writing=False), self._cell(new)
            else:
                yield self._cell(old) if old else None, self._cell(new) if new else None

    def _cell(self, row: DiffRow) -> DiffCell:
        places = [("new", row.new), ("old", row.old)]
        below = [item for place in places if place[1] for item in self.below.get(place, ())]
        side, number = ("new", row.new) if row.new else ("old", row.old)
        colours = self.colours.get(side, ())
        # A line that stands on both sides has not gone anywhere
        moved = 0 if row.kind == "same" else self.moved.get((side, number), 0)
        return DiffCell(
            row,
            below,
            self.writing in places and bool(self.writing and self.writing[1]),
            colours[number - 1] if colours else (),
            moved,
            bool(moved) and self.moved.get((side, number - 1)) != moved - 1,
        )


@dataclass(frozen=True)
class FileView:
    """Displayed file. `why`: in place of lines, the reason that there are none; `folded`: they appear on
    request. `pictures`: digests of a picture before and after."""

    counted: CountedFile
    hunks: Sequence[HunkView] = ()
    why: str = ""
    folded: bool = False
    pictures: Sequence[tuple[str, str]] = ()
    note: str = ""
    whole: bool = False
    part: PageSlice[DiffRow] | None = None
    """The rows that are shown, where there are more."""
    cut_lines: int = 0
    """Lines that are shown to LONGEST characters."""

    unreadable: bool = False
    """No lines to show: too large, or no text."""

    @property
    def is_complete(self) -> bool:
        """Tell that the page shows the file to its end."""
        return not (self.folded or self.unreadable or self.cut_lines or (self.part and self.part.next))

    @property
    def stored_digest(self) -> str:
        """Digest of the bytes that can be downloaded: as they are now, or as they were; "" of a link."""
        entry = self.counted.change.new or self.counted.change.old or {}
        return str(entry.get("digest") or "")

    @property
    def path(self) -> str:
        return escape_hidden(self.counted.path)

    @property
    def old_path(self) -> str:
        return escape_hidden(self.counted.change.was)


def file_view(
    counted: CountedFile,
    masker: Masker,
    *,
    ignore_space: bool = False,
    unfold: bool = False,
    is_full: bool = False,
    start: str = "",
    long: bool = False,
    below: Mapping[tuple[str, int], Sequence[Any]] | None = None,
    writing: tuple[str, int] | None = None,
) -> FileView:
    """Return the view of one changed file. It is compared as stored and displayed masked, line by line, so that
    line numbers stay the same.

    :param start: the first row to display, as an address gives it
    :param long: display lines of more than LONGEST characters in full
    :param below: items below a line, by side and number"""
    change = counted.change
    stored = StoredBytes((change.old, change.new))
    old, new = old_and_new_side_of_file(change, stored)
    # Before the size counts: a picture is not compared by lines.
    if pictures := _labelled_pictures(counted, old, new):
        return FileView(counted, pictures=pictures)
    if old.too_large or new.too_large:
        return FileView(counted, why="Too large to compare line by line.", unreadable=True)
    lines = text_diff_or_none(old, new, ignore_space=ignore_space)
    if lines is None:
        return FileView(counted, why="A binary file. Download it to look inside.", unreadable=True)
    changed = lines.added_line_count + lines.removed_line_count
    if not unfold and (counted.generated or changed > FOLDED_LINES):
        why = "Written by a program." if counted.generated else "A large change."
        return FileView(counted, why=why, folded=True)
    lines = replace(
        lines, old=[*map(masker.masked_text, lines.old)], new=[*map(masker.masked_text, lines.new)]
    )
    file_hunks = diff_hunks(lines, UNLIMITED if is_full else CONTEXT, UNLIMITED if long else LONGEST)
    notes = []
    if change.mode_changed:
        notes.append(_mode_note(change.new))
    if lines.end_changed:
        notes.append("One side has no newline at its end.")
    if not lines.exact:
        notes.append("Compared in part: more lines may be the same than are shown as such.")
    why = "" if file_hunks else _no_change_reason(counted, ignore_space)
    rows = [row for hunk in file_hunks for row in hunk.rows]
    part = page_slice_from(rows, SHOWN_ROWS, start)
    colours = {
        "old": colour_spans(change.was or counted.path, lines.old),
        "new": colour_spans(counted.path, lines.new),
    }
    moved = other_side_number_by_moved_line(rows)
    return FileView(
        counted,
        [HunkView(hunk, below or {}, writing, colours, moved) for hunk in _hunks_within(file_hunks, part)],
        why,
        note=" ".join(notes),
        whole=is_full,
        part=part if part.is_partial else None,
        cut_lines=sum(row.cut for row in part.rows),
    )


def _hunks_within(file_hunks: Iterable[Hunk], part: PageSlice[DiffRow]) -> Iterator[Hunk]:
    """The hunks of these rows; one that begins before or ends after them is shown in part."""
    place = 0
    for hunk in file_hunks:
        # A file may be longer than a page: a hunk is cut where the page ends
        rows = hunk.rows[max(0, part.start - place) : max(0, part.last - place)]
        if rows:
            yield replace(hunk, rows=rows)
        place += len(hunk.rows)


def _labelled_pictures(counted: CountedFile, old: FileSide, new: FileSide) -> Sequence[tuple[str, str]]:
    """(label, digest) of each side that is a picture without markup."""
    labels = (("Before", old, counted.change.old), ("Now", new, counted.change.new))
    return [
        (label, str(entry["digest"]))
        for label, side, entry in labels
        # SVG is none of PICTURES, as it can hold markup.
        if entry and side.content in PICTURES and int(entry.get("size", 0)) <= PICTURE_BYTES
    ]


def _mode_note(entry: Any) -> str:
    # The execute bit of the owner, the group or anybody else
    if int(entry.get("mode", 0)) & 0o111:
        return "The file can be executed now."
    return "The file can no longer be executed."


def _no_change_reason(counted: CountedFile, ignore_space: bool) -> str:
    if ignore_space:
        return "Only white space differs."
    if counted.change.change == ADDED:
        return "An empty file."
    if counted.change.change == DELETED:
        return "The file was empty."
    return "The content is the same."
