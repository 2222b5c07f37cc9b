"""Remarks on lines: drafts that are sent with a decision, and the state of those from earlier rounds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import BigIntegerField, CharField, DateTimeField, Exists, OuterRef, QuerySet
from django.utils import timezone

from pipelines.errors import Conflict, Forbidden, Invalid, first_row_or_raise_not_found
from pipelines.formats.evidence.trees.remark_location import (
    CHANGED,
    GONE,
    MOVED,
    UNCHANGED,
    RemarkLocation,
    locate_remark,
)
from pipelines.formats.evidence.trees.text_diff import file_side_of_bytes
from pipelines.models import GateVisit, User, Vote
from pipelines.models.plumbing.compiled_queries import compiled
from pipelines.routing.basics.hidden_characters import escape_hidden
from pipelines.web.changes.tree_comparison import (
    CountedFile,
    StoredBytes,
    StoredTree,
    TreeComparison,
    old_and_new_side_of_file,
)
from pipelines.work.transport.local.station_values import task_masker
from reviews.models import Remark

LONGEST = 4_000
MOST = 100
"""Drafts of one reader at one visit."""


@dataclass(frozen=True)
class PlacedRemark:
    """A remark as this reader sees it. `state`: what happened to its line since; "" in its own round. `path`: the
    file's current name."""

    remark: Remark
    mine: bool
    draft: bool
    state: str
    line: int
    path: str
    markable: bool
    checked: bool
    matches: int = 0
    url: str = ""

    @property
    def text(self) -> str:
        return escape_hidden(self.remark.text)

    @property
    def quoted(self) -> str:
        return escape_hidden(self.remark.quoted)

    @property
    def state_words(self) -> str:
        numbers = {"n": self.remark.line, "now": self.line}
        if self.state == UNCHANGED:
            moved = self.line != self.remark.line
            return ("Line %(n)s unchanged, now %(now)s" if moved else "Line %(n)s unchanged") % numbers
        if self.state == CHANGED:
            return "Line {n} changed".format(**numbers)
        if self.state == MOVED:
            return "Line {n} moved to {now}".format(**numbers)
        if self.state == GONE and self.matches > 1:
            return "Line {n} is gone; {matches} lines elsewhere are the same".format(
                **numbers,
                matches=self.matches,
            )
        return "Line {n} is gone".format(**numbers) if self.state else ""

    @property
    def icon(self) -> str:
        return {UNCHANGED: "minus", CHANGED: "edit", MOVED: "move", GONE: "delete"}.get(self.state, "comment")

    @property
    def visible_path(self) -> str:
        return escape_hidden(self.path)


class Remarks:
    """The remarks a reader may see at a visit: their own drafts, and those sent in this and earlier rounds."""

    def __init__(self, visit: GateVisit, reader: User, tree: StoredTree, renamed: Mapping[str, str]) -> None:
        """:param renamed: {path in an earlier round: path now}"""
        self.visit, self.reader, self._renamed = visit, reader, renamed
        rows = [
            row
            for row in _remarks_at_gate(task=visit.task_id, gate=visit.gate, until=visit.opened_at)
            if row.was_sent or (row.user_id == reader.pk and row.visit_id == visit.pk)
        ]
        self._files = {str(entry["path"]): entry for entry in tree.manifest if "digest" in entry}
        digests = [{"digest": row.content} for row in rows] + [
            entry
            for row in rows
            if (entry := self._current_entry_or_none_even_if_renamed(row.path)) is not None
        ]
        stored = StoredBytes(digests) if rows else None
        self.placed = [self._remark_located_in_current_files(row, stored) for row in rows if stored]

    def _current_entry_or_none_even_if_renamed(self, path: str) -> Any:
        return self._files.get(path) or self._files.get(self._renamed.get(path, ""))

    def _remark_located_in_current_files(self, row: Any, stored: StoredBytes) -> PlacedRemark:
        earlier = row.visit_id != self.visit.pk
        remark_fate = self._locate_remark(row, stored) if earlier else RemarkLocation("", row.line)
        checked = row.resolution == Remark.Resolution.RESOLVED or (
            row.resolution == Remark.Resolution.OPEN and row.checked_in_id == self.visit.pk
        )
        return PlacedRemark(
            row,
            mine=row.user_id == self.reader.pk,
            draft=not row.was_sent,
            state=remark_fate.state,
            line=remark_fate.line,
            path=row.path if row.path in self._files else self._renamed.get(row.path, row.path),
            markable=earlier and row.user_id == self.reader.pk and self.visit.state == GateVisit.State.OPEN,
            checked=checked,
            matches=remark_fate.matches,
        )

    def _locate_remark(self, row: Remark, stored: StoredBytes) -> RemarkLocation:
        # What an earlier round removed has no line in the file as it is now
        if row.side == Remark.Side.OLD:
            return RemarkLocation(GONE, 0)
        entry = self._current_entry_or_none_even_if_renamed(row.path)
        # The same bytes: nothing has to be read and compared
        if entry is not None and entry["digest"] == row.content:
            return RemarkLocation(UNCHANGED, row.line)
        before, now = (
            _lines_of_stored_entry_or_none(stored, {"digest": row.content}),
            _lines_of_stored_entry_or_none(stored, entry),
        )
        return locate_remark(before, now, row.line)

    # Counts

    @property
    def earlier(self) -> list[PlacedRemark]:
        return [remark for remark in self.placed if remark.state]

    @property
    def drafts(self) -> list[PlacedRemark]:
        return [remark for remark in self.placed if remark.draft]

    @property
    def checked_count(self) -> int:
        return sum(remark.checked for remark in self.earlier)

    @property
    def unchecked_count(self) -> int:
        return len(self.earlier) - self.checked_count

    @property
    def remark_count_by_path(self) -> dict[str, int]:
        counts: dict[str, int] = defaultdict(int)
        for remark in self.placed:
            counts[remark.path] += 1
        return counts

    def remarks_by_side_and_line(
        self, comparison: TreeComparison, counted: CountedFile
    ) -> Mapping[tuple[str, int], Sequence[PlacedRemark]]:
        """Return the remarks of one file, by side and line."""
        by_place: dict[tuple[str, int], list[PlacedRemark]] = defaultdict(list)
        for placed in self.placed:
            if placed.path in (counted.path, counted.change.was):
                # A remark of an earlier round stands at its line as it is now
                side = placed.remark.side if not placed.state else "new"
                by_place[(side, placed.line)].append(placed)
        return by_place


def _lines_of_stored_entry_or_none(stored: StoredBytes, entry: Any) -> Sequence[str] | None:
    data = stored.read(entry) if entry else None
    return None if data is None else file_side_of_bytes(data).lines


def remarks_up_to_visit_with_was_sent(visit: GateVisit) -> QuerySet[Any]:
    """Return the remarks of this visit and of earlier ones at this gate; `was_sent`: the author has decided
    on its visit."""
    return _remarks_up_to_with_was_sent(visit.task_id, visit.gate, visit.opened_at)


def _remarks_up_to_with_was_sent(task: Any, gate: Any, until: Any) -> QuerySet[Any]:
    votes = Vote.objects.filter(visit=OuterRef("visit"), user=OuterRef("user"))
    here = Remark.objects.filter(visit__task=task, visit__gate=gate, visit__opened_at__lte=until)
    return here.annotate(was_sent=Exists(votes))


@compiled(task=BigIntegerField(), gate=CharField(), until=DateTimeField())
def _remarks_at_gate(task: Any, gate: Any, until: Any) -> QuerySet[Any]:
    return _remarks_up_to_with_was_sent(task, gate, until).select_related("user", "visit").order_by("pk")


def sorted_remarks_of_user_on_visit(visit: GateVisit, user: User) -> list[Remark]:
    return list(Remark.objects.filter(visit=visit, user=user).order_by("path", "line", "pk"))


def reason_with_remarks(visit: GateVisit, user: User, reason: str) -> str:
    """The reason of a decision with the drafts of who decides below it, each as `path:line: text`."""
    comments = [
        f"{draft.path}:{draft.line}: {draft.text}" for draft in sorted_remarks_of_user_on_visit(visit, user)
    ]
    return "\n".join(filter(None, (reason, *comments))) if comments else reason


def save_draft_on_line_under_review(
    visit: GateVisit, user: User, comparison: TreeComparison, path: str, side: str, line: int, text: str
) -> Remark:
    """Save a draft on a line under review. Raises Invalid (no such line, no text)."""
    if visit.votes.filter(user=user).exists() or visit.state != GateVisit.State.OPEN:
        raise Conflict("You have already decided here.")
    text = text.strip()
    # PostgreSQL stores no NUL
    if not text or len(text) > LONGEST or "\x00" in text:
        raise Invalid.at("text", "Write a comment.", f"At most {LONGEST} characters.")
    if side not in Remark.Side.values:
        raise Invalid.at("side", "This line is not under review.", "Choose a line of the changes.")
    counted = comparison.find_file(path)
    entry = counted and (counted.change.new if side == Remark.Side.NEW else counted.change.old)
    lines = None
    if counted and entry and "digest" in entry:
        old, new = old_and_new_side_of_file(
            counted.change, StoredBytes((counted.change.old, counted.change.new))
        )
        lines = (new if side == Remark.Side.NEW else old).lines
    if lines is None or not 1 <= line <= len(lines) or not entry:
        raise Invalid.at("line", "This line is not under review.", "Choose a line of the changes.")
    if Remark.objects.filter(visit=visit, user=user).count() >= MOST:
        raise Invalid.at("text", "Too many comments.", "Send these with your decision first.")
    return Remark.objects.create(
        visit=visit,
        user=user,
        path=path,
        side=side,
        line=line,
        content=str(entry["digest"]),
        # Masked before it is cut: half a secret would not be found
        quoted=task_masker(visit.task).masked_text(lines[line - 1])[:500],
        text=text,
        at=timezone.now(),
    )


def delete_unsent_draft_if_there(visit: GateVisit, user: User, remark: int) -> None:
    """Delete a draft. A remark that was sent stays."""
    remarks_up_to_visit_with_was_sent(visit).filter(
        pk=remark, visit=visit, user=user, was_sent=False
    ).delete()


def record_own_resolution_in_this_round(visit: GateVisit, user: User, remark: int, resolution: str) -> None:
    """Record in this round whether a remark of an earlier round is resolved. Only its author can.

    Raises NotFound, Forbidden, Conflict.
    """
    if visit.state != GateVisit.State.OPEN:
        raise Conflict("This review is closed.")
    stored_remark = first_row_or_raise_not_found(
        remarks_up_to_visit_with_was_sent(visit).exclude(visit=visit).filter(pk=remark, was_sent=True),
        "This remark does not exist.",
    )
    if stored_remark.user_id != user.pk:
        raise Forbidden("Only the reviewer who made a remark can say whether it is resolved.")
    stored_remark.resolution = resolution if resolution in Remark.Resolution.values else ""
    stored_remark.checked_in = visit if stored_remark.resolution else None
    stored_remark.save(update_fields=["resolution", "checked_in"])
