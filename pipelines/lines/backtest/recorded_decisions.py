"""Recorded decisions, task after task, newest task first: some at a time, so that neither memory nor a transaction
grows with how many there are."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from pipelines.lines.backtest.selection import Selection
from pipelines.models import Line

PAGE = 200
"""Tasks whose decisions are read by one statement."""
ROWS = 100
"""Decisions that the cursor of that statement hands over at a time."""
COLUMNS = ("pk", "task_id", "task__number", "pinned_id", "revision", "station", "at", "situation", "answer")


@dataclass(frozen=True, slots=True)
class RecordedRow:
    """Recorded decision, as the back-test reads it."""

    id: UUID
    task_id: int
    task_number: int
    pinned_id: int
    revision: int
    station: str
    at: datetime
    situation: dict[str, Any]
    answer: dict[str, Any]


def count_decisions_up_to_limit(line: Line, selection: Selection) -> int:
    """Return the number of selected decisions, at most the limit."""
    decisions = selection.decisions_of(selection.tasks_of(line))
    return min(decisions.count(), selection.limit)


def recorded_rows(line: Line, selection: Selection) -> Generator[RecordedRow, None, None]:
    """Yield the recorded decisions in the order in which each task was decided about. Every statement is a
    transaction of its own; a page's cursor holds no lock and goes when the iterator is closed."""
    left = selection.limit
    for tasks in _task_id_pages(line, selection):
        decisions = (
            selection.decisions_of(tasks).order_by("-task_id", "at", "job_id", "pk").values_list(*COLUMNS)
        )
        for values in decisions[:left].iterator(chunk_size=ROWS):
            left -= 1
            yield RecordedRow(*values)
        if left <= 0:
            return


def _task_id_pages(line: Line, selection: Selection) -> Iterator[list[int]]:
    """Primary keys of tasks from the newest down."""
    tasks, before = selection.tasks_of(line), None
    while True:
        # By key, not by offset: tasks that begin meanwhile shift no page.
        page = tasks if before is None else tasks.filter(pk__lt=before)
        ids = list(page.order_by("-pk").values_list("pk", flat=True)[:PAGE])
        if not ids:
            return
        yield ids
        before = ids[-1]
