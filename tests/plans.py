"""How the server finds jobs where there are many of others, by its own statistics of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

from pipelines.models import Task

OTHERS = 3_000
COPIED = {
    "pipelines_task": ("id", {"number": "row.number + n", "id": "row.id + n"}),
    "pipelines_token": ("task_id", {"task_id": "row.task_id + n", "id": "row.id + n"}),
    "pipelines_job": (
        "task_id",
        {"task_id": "row.task_id + n", "token_id": "row.token_id + n", "id": "row.id + n"},
    ),
}
"""Tables with what names the task in them, and what is another in a copy."""


def among_others(task: Task, others: int = OTHERS) -> Task:
    """The same task, where so many others are like it."""
    assert task.tokens.count() == task.jobs.count() == 1
    with connection.cursor() as cursor:
        for table, (of, another) in COPIED.items():
            said = ", ".join(f"'{name}', {value}" for name, value in another.items())
            cursor.execute(
                f"INSERT INTO {table} SELECT copy.* FROM {table} row, generate_series(1000, {999 + others}) n,"
                f" jsonb_populate_record(row, jsonb_build_object({said})) copy WHERE row.{of} = %s",
                [task.pk],
            )
            cursor.execute(f"ANALYZE {table}")
    return task


def plan(text: str, values: list[Any]) -> list[dict[str, Any]]:
    """Each step at jobs."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {text}", values)
        (told,) = cursor.fetchone()
    [whole] = json.loads(told) if isinstance(told, str) else told
    return [step for step in _steps(whole["Plan"]) if step.get("Relation Name") == "pipelines_job"]


def _steps(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield step
    for each in step.get("Plans", ()):
        yield from _steps(each)


def by_key(step: dict[str, Any]) -> bool:
    return "Index Cond" in step or "Recheck Cond" in step


@contextmanager
def jobs_are_read_by_key() -> Iterator[None]:
    """Within it something is asked of jobs, and never of those of others."""
    seen: list[tuple[str, Any]] = []

    def watch(execute: Any, sql: str, values: Any, *more: Any) -> Any:
        seen.append((sql, values))
        return execute(sql, values, *more)

    with connection.execute_wrapper(watch):
        yield
    steps = [step for text, values in seen if "pipelines_job" in text for step in plan(text, list(values))]
    assert steps, seen
    assert all(map(by_key, steps)), steps
