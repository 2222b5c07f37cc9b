"""Transaction of an engine function: one per function, rerun as a whole when the database asks for it (house
§2)."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import sleep
from typing import Any, Protocol, TypeVar

from django.db import OperationalError, connection, transaction

from pipelines.engine.statements import (
    AWAITED_TASKS,
    JOB_IDS,
    LOCK_TASKS,
    READ_TASKS,
    TASKS_BY_ID,
    TASKS_OF_JOBS,
)
from pipelines.models import Due, Job, Owner, Project, Task, Token
from pipelines.models.plumbing import bulk_rows
from pipelines.models.plumbing.compiled_queries import BoundQuery, Statement, execute_all_and_fetch
from pipelines.routing.decide.effects import Hold, hold_by_pause

T = TypeVar("T")

# Deadlock, serialization failure, lock not available.
RERUN = {"40P01", "40001", "55P03"}
PAUSES = (0.02, 0.1, 0.5)
"""Seconds before each rerun. The other party of a deadlock is only waking up then: a victim that began again at once
would lock its first row before it, and be the victim of the same deadlock each time."""


def run_in_transaction(work: Callable[[], T]) -> T:
    """Do `work` in a transaction. `work` must be repeatable: it reads everything it needs again."""
    for pause in (*PAUSES, None):
        try:
            with transaction.atomic():
                return work()
        except OperationalError as error:
            # Inside an outer transaction a rerun is impossible: the outer one is broken.
            if pause is None or connection.in_atomic_block or _sqlstate_or_none(error) not in RERUN:
                raise
        sleep(pause)
    raise AssertionError("unreachable")


def _sqlstate_or_none(error: OperationalError) -> str | None:
    # Only psycopg's error, which Django wraps, has the code.
    return getattr(error.__cause__, "sqlstate", None)


# Loading at the start of a transaction, in one round trip: the tasks, locked in the order of their ids; then,
# by a second statement, which sees them as they are once they are locked, the clock and all that belongs to
# them.


@dataclass(frozen=True)
class PauseSpan:
    """A pause of a task. `station`: the one that it is for; "": all. `ended_at`: None while it is in force."""

    id: int
    station: str
    stops: bool
    by: str
    reason: str
    since: datetime
    ended_at: datetime | None = None

    @property
    def hold_by_this_pause(self) -> Hold:
        """The `wait` of work that it holds."""
        return hold_by_pause(self.id, self.by, self.reason, self.since.isoformat())

    def covers_work_at_station(self, station: str | None) -> bool:
        return self.station in ("", station)

    @property
    def is_in_force(self) -> bool:
        return self.ended_at is None


SPARE = 3
"""Ids for more jobs than those that are reported: a fork opens several."""
MORE = 8
"""For each task, once those are used up."""

Unmet = dict[int, dict[str, str]]
"""Of tasks that wait for others: the names of those that are not completed, with their states."""
Circles = dict[int, list[str]]
"""Of tasks that wait for each other: the open deadlocks of it."""


@dataclass(frozen=True)
class Loaded:
    """`clock`: the time after the lock; `job_ids`: for as many jobs as will be opened at least; `jobs`: the open ones,
    and those that were asked for; `besides`: the answers to what was asked besides, after the lock."""

    clock: datetime
    job_ids: Iterator[int]
    tasks: list[Task]
    tokens: list[Token]
    jobs: list[Job]
    dues: list[Due]
    unmet: Unmet
    pauses: dict[int, list[PauseSpan]]
    circles: Circles
    besides: list[list[Any]]


def lock_and_load_tasks(ids: Collection[int], besides: Sequence[BoundQuery[Any]] = ()) -> Loaded:
    return _lock_and_load(TASKS_BY_ID, list(ids), [], besides)


def lock_and_load_tasks_of_jobs(ids: Collection[int]) -> Loaded:
    return _lock_and_load(TASKS_OF_JOBS, list(ids), list(ids))


def _lock_and_load(
    of: str, ids: list[int], jobs: list[int], besides: Sequence[BoundQuery[Any]] = ()
) -> Loaded:
    lock = Statement(LOCK_TASKS.format(of=of), [ids])
    read = Statement(READ_TASKS.format(of=of), [ids, jobs, len(jobs) + SPARE])
    more = [Statement(question.text, question.parameters) for question in besides]
    locked, [(clock, job_ids, tokens, work, projects, dues, unmet, paused, circles)], *answers = (
        execute_all_and_fetch([lock, read, *more])
    )
    known = {}
    for project, owner in json.loads(projects or "[]"):
        known[project["id"]] = bulk_rows.row_from_json(Project, project)
        known[project["id"]].owner = bulk_rows.row_from_json(Owner, owner)
    tasks = [bulk_rows.row_from_json(Task, json.loads(text)) for (text,) in locked]
    for task in tasks:
        task.project = known[task.project_id]
    pauses: dict[int, list[PauseSpan]] = {}
    for task_id, pk, station, stops, by, reason, *times in json.loads(paused or "[]"):
        since, ended_at = (datetime.fromisoformat(at) if at else None for at in times)
        assert since is not None
        pauses.setdefault(task_id, []).append(PauseSpan(pk, station, stops, by, reason, since, ended_at))
    return Loaded(
        clock=clock,
        job_ids=iter(job_ids),
        tasks=tasks,
        tokens=[bulk_rows.row_from_json(Token, row) for row in json.loads(tokens or "[]")],
        jobs=[bulk_rows.row_from_json(Job, row) for row in json.loads(work or "[]")],
        dues=[bulk_rows.row_from_json(Due, row) for row in json.loads(dues or "[]")],
        unmet={int(pk): names for pk, names in json.loads(unmet or "{}").items()},
        pauses=pauses,
        circles={int(pk): deadlock_ids for pk, deadlock_ids in json.loads(circles or "{}").items()},
        besides=[question.read(answer) for question, answer in zip(besides, answers, strict=True)],
    )


def ids_of_awaited_or_deadlocked_tasks(tasks: Collection[int]) -> frozenset[int]:
    """Return those of these locked tasks for which others wait or that are party to an open deadlock."""
    [id_rows] = execute_all_and_fetch([Statement(AWAITED_TASKS, [list(tasks), list(tasks)])])
    return frozenset(pk for (pk,) in id_rows)


def reserve_job_ids(count: int) -> Iterator[int]:
    [id_rows] = execute_all_and_fetch([Statement(JOB_IDS, [count])])
    return (pk for (pk,) in id_rows)


# Not the batch itself, which imports the modules that are handed it
class LockedTasks(Protocol):
    """Rows by their primary keys; `now` is the database's clock after the lock."""

    now: datetime
    tasks: dict[int, Task]
    tokens: dict[int, Token]
    jobs: dict[int, Job]
    dues: dict[int, Due]
    pauses: dict[int, list[PauseSpan]]
