"""How the server finds the rows of a statement, where it is told not to read a whole table: of the few rows of a test
it would."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction


def plan(text: str, values: list[Any]) -> list[dict[str, Any]]:
    """Each step at jobs. Of the few rows of a test the server would read all, so it is told not to."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
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
