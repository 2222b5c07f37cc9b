"""Reading many tasks with what belongs to them, some hundred at a time; of a few, each row once for all checks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from django.db.models import QuerySet

from pipelines.models import Decision, Due, Escalation, Event, GateVisit, Handoff, Job, Retention, Task, Token
from pipelines.models.plumbing.compiled_queries import CompiledQuery, array_field, server_prepared
from pipelines.ports.observers import Violation

Row = TypeVar("Row")
CHUNK = 200


@dataclass
class TaskRecord:
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

    def violation(self, invariant: str, message: str) -> Violation:
        return Violation(invariant, f"task {self.task.pk}", message)


@dataclass
class CachedRecords:
    """The tasks that the checks of one run have in common, and the parts of them that were read so far."""

    tasks: list[TaskRecord]
    parts: set[str] = field(default_factory=set)


_records: ContextVar[dict[tuple[int, ...] | None, CachedRecords] | None] = ContextVar(
    "retention", default=None
)


@contextmanager
def caching_records(task_ids: Sequence[int] | None) -> Iterator[None]:
    """Inside, the rows of a few tasks are read once for all checks; those of many are read by each check, to
    bound memory."""
    few = len(_first_task_ids() if task_ids is None else task_ids) <= CHUNK
    token = _records.set({} if few else None)
    try:
        yield
    finally:
        _records.reset(token)


def are_records_cached() -> bool:
    """Return whether what belongs to the tasks of this run may be in memory at once."""
    return _records.get() is not None


def all_rows_or_chunked(rows: QuerySet[Any, Row], chunk_size: int) -> Iterable[Row]:
    """Return the rows: all at once if the tasks are few, otherwise in chunks by a server-side cursor."""
    return rows if are_records_cached() else rows.iterator(chunk_size=chunk_size)


@server_prepared()
def _first_task_ids() -> QuerySet[Task, int]:
    # One more than a chunk is enough to know that they are many.
    return Task.objects.values_list("pk", flat=True)[: CHUNK + 1]


def _tasks_in_order() -> QuerySet[Task]:
    """Read the tasks that have a record: of one that was purged nothing is left to compare."""
    recorded = Task.objects.filter(retention__lt=Retention.TOMBSTONE)
    return recorded.select_related("project", "pinned", "line").order_by("pk")


_all = server_prepared()(_tasks_in_order)


def task_records(task_ids: Sequence[int] | None, *parts: str) -> Iterator[TaskRecord]:
    """The tasks, with the named parts of `TaskRecord` filled, each in the order in which it was written."""
    if are_records_cached():
        yield from _cached_records_with_parts(None if task_ids is None else tuple(task_ids), parts)
        return
    tasks = _tasks_in_order() if task_ids is None else _tasks_in_order().filter(pk__in=task_ids)
    chunk: list[TaskRecord] = []
    for task in tasks.iterator(chunk_size=CHUNK):
        chunk.append(TaskRecord(task))
        if len(chunk) == CHUNK:
            yield from _fill_parts_of_records(chunk, parts)
            chunk = []
    yield from _fill_parts_of_records(chunk, parts)


def _cached_records_with_parts(of: tuple[int, ...] | None, parts: tuple[str, ...]) -> list[TaskRecord]:
    records = _records.get()
    assert records is not None
    if of not in records:
        tasks = _all() if of is None else _tasks_in_order().filter(pk__in=of)
        records[of] = CachedRecords([TaskRecord(task) for task in tasks])
    cached = records[of]
    _fill_parts_of_records(cached.tasks, tuple(part for part in parts if part not in cached.parts))
    cached.parts.update(parts)
    return cached.tasks


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


def _fill_parts_of_records(chunk: list[TaskRecord], parts: tuple[str, ...]) -> list[TaskRecord]:
    of = [record.task.pk for record in chunk]
    for part in parts:
        rows = defaultdict(list)
        for row in _part_query(part)(of=of):
            rows[row.task_id].append(row)
        for record in chunk:
            setattr(record, part, rows[record.task.pk])
    return chunk


@cache
def _part_query(part: str) -> CompiledQuery[Any]:
    model, order = ORDERS[part]
    return server_prepared(of=array_field())(
        lambda of: model._default_manager.filter(task__among=of).order_by(order)
    )
