"""What reports are judged by is found by keys: a report costs the same, however many jobs others have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, transaction

from pipelines.work.runners.reported import READ
from pipelines.work.transport.local.station_values import maskers_of
from tests.factories import World

pytestmark = pytest.mark.django_db


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


def test_no_report_reads_the_jobs_of_others(world: World) -> None:
    task = world.start(world.line(stations=["a", "b"]))
    job = world.started(task)
    steps = plan(READ, [world.worker.pk, 1, [job.pk], [job.pk]])
    assert len(steps) == 3
    assert all(map(by_key, steps)), steps


def test_no_masker_reads_the_jobs_of_others(world: World) -> None:
    task = world.start(world.line(stations=["a", "b"]))
    seen: list[tuple[str, Any]] = []

    def watch(execute: Any, sql: str, values: Any, *more: Any) -> Any:
        seen.append((sql, values))
        return execute(sql, values, *more)

    with connection.execute_wrapper(watch):
        assert task.pk in maskers_of([task])
    [(text, values)] = [each for each in seen if "pipelines_job" in each[0]]
    steps = plan(text, list(values))
    assert steps
    assert all(map(by_key, steps)), steps
