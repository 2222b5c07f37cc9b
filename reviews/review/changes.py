"""*Changes* of a review: since the previous round, since the start, or since this reader last looked."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import cached_property
from typing import Any

from django.db.models import BigIntegerField, CharField, DateTimeField, QuerySet, UUIDField
from django.http import QueryDict
from django.urls import reverse

from pipelines.models import GateVisit, User, Word
from pipelines.models.gates import RETURNS
from pipelines.models.plumbing.compiled_queries import compiled
from pipelines.queries import versions
from pipelines.web.changes import viewed_content
from pipelines.web.changes.panel import ChangesPanel, Range
from pipelines.web.changes.task_changes import ranges_since_viewed
from pipelines.web.changes.tree_comparison import CountedFile, StoredTree, compare_trees
from pipelines.web.changes.trees import TaskTrees
from pipelines.work.results.text import Masker
from pipelines.work.transport.local.station_values import task_masker
from reviews.decision.remarks import Remarks


class ReviewChanges:
    """The files under review and what was remarked on them."""

    def __init__(self, visit: GateVisit, reader: User, may_write: bool) -> None:
        self.visit, self.reader, self.may_write = visit, reader, may_write
        self.trees = TaskTrees(visit.task_id)

    @cached_property
    def tree(self) -> StoredTree:
        return self.trees.tree_at(self.visit.token_id, self.visit.opened_at)

    @cached_property
    def remarks(self) -> Remarks:
        earlier = next((diff_range for diff_range in self.ranges if diff_range.key == "round"), None)
        # So that remarks of the round before are found under the name that their file has now
        files = compare_trees(earlier.base, self.tree).files if earlier else ()
        renamed = {file.change.was: file.path for file in files if file.change.was}
        return Remarks(self.visit, self.reader, self.tree, renamed)

    @cached_property
    def masker(self) -> Masker:
        return task_masker(self.visit.task)

    @cached_property
    def patterns(self) -> tuple[str, ...]:
        """Patterns of the files that the line calls sensitive."""
        return versions.parsed_line_by_version_id(self.visit.task.pinned_id).sensitive

    @property
    def has_files(self) -> bool:
        """Return whether any station left files."""
        return bool(self.tree.digest) or any(diff_range.base.digest for diff_range in self.ranges)

    @cached_property
    def ranges(self) -> list[Range]:
        """The first is what a reviewer reads: the previous round where they were shown the files before, else all."""
        viewed = ranges_since_viewed(self.trees, self.reader, self.visit.task, self.tree.digest)
        start, earlier = Range("start", "Since start", self._start), self._last_visit_sent_back_or_none
        if earlier is None:
            return [start, *viewed]
        base = self.trees.tree_at(earlier.token_id, earlier.opened_at)
        since_round = Range("round", f"Since {_return_words(earlier, self.reader)}", base)
        # Whoever looked last at what was sent back reads the same in both.
        other = [diff_range for diff_range in viewed if diff_range.base.digest != base.digest]
        return [since_round, start, *other] if viewed else [start, since_round]

    @property
    def unchanged_words(self) -> str:
        """“Unchanged since you sent it back”, "" where something changed or nothing was sent back."""
        earlier = self._last_visit_sent_back_or_none
        if earlier is None:
            return ""
        if self.has_files:
            base = next(diff_range.base for diff_range in self.ranges if diff_range.key == "round")
            is_same = not compare_trees(base, self.tree).files
        else:
            # What is asked about again, without what differs from run to run
            is_same = earlier.evidence.get("content") == self.visit.evidence.get("content")
        return f"Unchanged since {_return_words(earlier, self.reader)}" if is_same else ""

    @property
    def url(self) -> str:
        return reverse("gate-visit", args=[self.visit.pk])

    @cached_property
    def _start(self) -> StoredTree:
        return self.trees.start_tree(self.visit.token_id, self.visit.opened_at)

    @property
    def start_files(self) -> tuple[CountedFile, ...]:
        return compare_trees(self._start, self.tree).files

    @cached_property
    def reader_files(self) -> viewed_content.ReaderFiles:
        return viewed_content.files_reader_viewed_and_marked(self.reader, self.visit.task)

    def count_files_not_opened(self, opened: Collection[tuple[str, str]]) -> int:
        """Count the changed files that are not among those that the reader was shown to their end."""
        # With its content: a file that changed after it was opened was not opened as it is
        return sum((file.path, file.content_mark) not in opened for file in self.start_files)

    def record_that_reader_viewed_tree(self) -> None:
        """Remember that the reader was shown this tree."""
        if self.tree.digest:
            visit = self.visit
            viewed_content.record_view(
                self.reader, visit.task, visit.token_id, visit.opened_at, self.tree.digest
            )

    def changes_panel(self, query: QueryDict) -> ChangesPanel:
        return self._with_remarks_outside_shown_file(
            ChangesPanel(
                self.tree,
                self.ranges,
                reverse("gate-visit", args=[self.visit.pk]),
                query,
                self.masker,
                patterns=self.patterns,
                viewed=self.reader_files.viewed,
                opened=self.reader_files.opened,
                remarks=self.remarks.remark_count_by_path,
                below=self.remarks.remarks_by_side_and_line,
                writable=self.may_write,
                below_template="reviews/gate_visit/below.html",
                elsewhere_template="reviews/gate_visit/elsewhere.html",
            )
        )

    def _with_remarks_outside_shown_file(self, panel: ChangesPanel) -> ChangesPanel:
        """Remarks on lines that the open file does not show, each with the address of its file."""
        open_file = panel.file
        placed = {
            id(remark)
            for hunk in (open_file.hunks if open_file else ())
            for cell in hunk.cells
            for remark in cell.below
        }
        panel.unplaced = [
            replace(
                remark, url=panel.url(file=remark.path, range="start" if remark.state else panel.range.key)
            )
            for remark in self.remarks.placed
            if id(remark) not in placed
        ]
        return panel

    @cached_property
    def _last_visit_sent_back_or_none(self) -> GateVisit | None:
        visit = self.visit
        return _last_visit_sent_back_query.first(
            task=visit.task_id, gate=visit.gate, until=visit.opened_at, but=visit.pk
        )


def _return_words(earlier: GateVisit, reader: User) -> str:
    """“you sent it back”; by whom else it was stands above the changes."""
    is_rejected, is_own = earlier.word == Word.REJECT, earlier.decided_by_id == reader.pk
    if is_rejected:
        return "you rejected it" if is_own else "it was rejected"
    return "you sent it back" if is_own else "it was sent back"


@compiled(task=BigIntegerField(), gate=CharField(), until=DateTimeField(), but=UUIDField())
def _last_visit_sent_back_query(task: Any, gate: Any, until: Any, but: Any) -> QuerySet[GateVisit]:
    decided = GateVisit.objects.filter(task=task, gate=gate, state=GateVisit.State.DECIDED, word__in=RETURNS)
    return decided.filter(decided_at__lte=until).exclude(pk=but).order_by("-decided_at")[:1]
