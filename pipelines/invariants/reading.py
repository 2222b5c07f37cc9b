"""Reading many tasks with what belongs to them, some hundred at a time; of a few, each row once for all checks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from pipelines.models import Decision, Due, Escalation, Event, GateVisit, Handoff, Job, Task, Token
from pipelines.ports.observers import Violation

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
    dues: list[Due] = field(default_factory=list)
    escalated: list[Escalation] = field(default_factory=list)
    handoffs: list[Handoff] = field(default_factory=list)

    def broken(self, invariant: str, message: str) -> Violation:
        return Violation(invariant, f"task {self.task.pk}", message)


@dataclass
class TaskRecords:
    """The tasks that the checks of one run have in common, and the parts of them that were read so far."""

    tasks: list[Whole]
    parts: set[str] = field(default_factory=set)


_kept: ContextVar[dict[tuple[int, ...] | None, TaskRecords] | None] = ContextVar("kept", default=None)


@contextmanager
def read_once(task_ids: Sequence[int] | None) -> Iterator[None]:
    """Inside, a few tasks are read once, however many checks look at them; many are read by each, to bound memory."""
    few = len(Task.objects.values("pk")[: CHUNK + 1] if task_ids is None else task_ids) <= CHUNK
    token = _kept.set({} if few else None)
    try:
        yield
    finally:
        _kept.reset(token)


def whole(task_ids: Sequence[int] | None, *parts: str) -> Iterator[Whole]:
    """The tasks, with the named parts of `Whole` filled, each in the order in which it was written."""
    tasks = Task.objects.select_related("project", "pinned", "line").order_by("pk")
    if task_ids is not None:
        tasks = tasks.filter(pk__in=task_ids)
    kept = _kept.get()
    if kept is not None:
        yield from _once(kept, None if task_ids is None else tuple(task_ids), tasks, parts)
        return
    chunk: list[Whole] = []
    for task in tasks.iterator(chunk_size=CHUNK):
        chunk.append(Whole(task))
        if len(chunk) == CHUNK:
            yield from _filled(chunk, parts)
            chunk = []
    yield from _filled(chunk, parts)


def _once(
    kept: dict[tuple[int, ...] | None, TaskRecords],
    ids: tuple[int, ...] | None,
    tasks: QuerySet[Task],
    parts: tuple[str, ...],
) -> list[Whole]:
    if ids not in kept:
        kept[ids] = TaskRecords([Whole(task) for task in tasks])
    mine = kept[ids]
    _filled(mine.tasks, tuple(part for part in parts if part not in mine.parts))
    mine.parts.update(parts)
    return mine.tasks


ORDERS: dict[str, tuple[Any, str]] = {
    "tokens": (Token, "pk"),
    "jobs": (Job, "pk"),
    "visits": (GateVisit, "opened_at"),
    "events": (Event, "seq"),
    "decisions": (Decision, "at"),
    "dues": (Due, "pk"),
    "escalated": (Escalation, "opened_at"),
    "handoffs": (Handoff, "at"),
}


def _filled(chunk: list[Whole], parts: tuple[str, ...]) -> list[Whole]:
    ids = [each.task.pk for each in chunk]
    for part in parts:
        rows = defaultdict(list)
        for row in ORDERS[part][0]._default_manager.raw(_statement(part), [ids]):
            rows[row.task_id].append(row)
        for each in chunk:
            setattr(each, part, rows[each.task.pk])
    return chunk


@cache
def _statement(part: str) -> str:
    """Always the same: making it anew for each read would cost more than the read."""
    model, order = ORDERS[part]
    quoted = connection.ops.quote_name
    columns = ", ".join(quoted(each.column) for each in model._meta.concrete_fields)
    by = quoted(model._meta.pk.column if order == "pk" else order)
    return f"SELECT {columns} FROM {quoted(model._meta.db_table)} WHERE task_id = ANY(%s) ORDER BY {by}"
