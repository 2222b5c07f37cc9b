"""Which rules tasks took more often, as drawings are told it."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from pipelines.models import LineVersion, Task
from pipelines.queries import rule_ranks
from pipelines.web.lines.drawing import drawing_of_version
from tests.factories import World, station

EVEN = {"path": "$.n", "op": "exists"}


@pytest.mark.parametrize(
    ("counts", "ranks"),
    [
        ({"a": 5, "b": 25}, {"b": 0, "a": 1}),
        ({"a": 22, "b": 33, "c": 0}, {"b": 0, "a": 1, "c": 2}),
        ({"a": 14, "b": 18}, {}),
        ({"a": 40, "b": 30, "c": 2}, {"a": 0, "b": 0, "c": 1}),
        # Of the last two only a single task tells: they share a rank.
        ({"a": 40, "b": 0, "c": 1}, {"a": 0, "b": 1, "c": 1}),
        ({"a": 0, "b": 19}, {}),
        ({"a": 50}, {}),
        ({}, {}),
    ],
)
def test_rules_are_ranked_where_they_clearly_differ(counts: dict[str, int], ranks: dict[str, int]) -> None:
    assert rule_ranks.rank_by_rule_id(counts) == ranks


@pytest.mark.django_db
@pytest.mark.broken  # copied rows have no history that the engine wrote
def test_a_drawing_is_told_what_ended_tasks_took_by_one_statement_in_some_minutes(world: World) -> None:
    rules = ({"id": "first", "when": {"output": EVEN}, "to": "fix"}, {"id": "second", "to": "ship"})
    version = world.line(stations=[station("look", *rules), "fix", "ship"])
    _ended(world, version, 30, {"second": 1})
    _ended(world, version, 2, {"first": 40, "second": 1})
    with CaptureQueriesContext(connection) as made:
        drawn = [drawing_of_version(version, version.line.project_id).given["taken"] for _ in range(2)]
    assert drawn == [{"second": 0, "first": 1}] * 2
    assert sum("jsonb_object_keys" in each["sql"] for each in made) == 1


def _ended(world: World, version: LineVersion, count: int, rules: dict[str, int]) -> None:
    first, now = Task.objects.count() + 1, timezone.now()
    Task.objects.bulk_create(
        Task(
            project=world.project,
            line=version.line,
            pinned=version,
            number=number,
            title="Ended",
            requested_by="Somebody",
            rules=rules,
            status="completed",
            end="completed",
            created_at=now,
            changed_at=now,
            ended_at=now,
        )
        for number in range(first, first + count)
    )
