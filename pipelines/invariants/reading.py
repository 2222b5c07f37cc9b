"""Reading many tasks with what belongs to them, some hundred at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipelines.models import Decision, Event, GateVisit, Job, Task, Token
from pipelines.ports import Violation

CHUNK = 200


@dataclass
class Whole:
    """A task with everything that an invariant looks at."""

    task: Task
    tokens: list[Token] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    visits: list[GateVisit] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)

    def broken(self, invariant: str, message: str) -> Violation:
        return Violation(invariant, f"task {self.task.pk}", message)


def whole(task_ids: Sequence[int] | None, *parts: str) -> Iterator[Whole]:
    """The tasks, with the named parts of `Whole` filled, each in the order in which it was written."""
    tasks = Task.objects.select_related("project", "pinned", "line").order_by("pk")
    if task_ids is not None:
        tasks = tasks.filter(pk__in=task_ids)
    chunk: list[Whole] = []
    for task in tasks.iterator(chunk_size=CHUNK):
        chunk.append(Whole(task))
        if len(chunk) == CHUNK:
            yield from _filled(chunk, parts)
            chunk = []
    yield from _filled(chunk, parts)


ORDERS: dict[str, tuple[Any, str]] = {
    "tokens": (Token, "pk"),
    "jobs": (Job, "pk"),
    "visits": (GateVisit, "opened_at"),
    "events": (Event, "seq"),
    "decisions": (Decision, "at"),
}


def _filled(chunk: list[Whole], parts: tuple[str, ...]) -> list[Whole]:
    for part in parts:
        model, order = ORDERS[part]
        rows = defaultdict(list)
        for row in model._default_manager.filter(task__in=[each.task.pk for each in chunk]).order_by(order):
            rows[row.task_id].append(row)
        for each in chunk:
            setattr(each, part, rows[each.task.pk])
    return chunk
