"""A statement that is compiled once answers as the QuerySet that it was written as."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.db.models import BigIntegerField, CharField, Exists, OuterRef, QuerySet, UUIDField
from django.db.models.functions import Now

from pipelines.models import GateVisit, Job, Task, Token
from pipelines.models.plumbing.compiled_queries import array_field, compiled, server_prepared
from tests.factories import World
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db
written: list[str] = []


@compiled(task=BigIntegerField(), title=CharField())
def _named(task: Any, title: Any) -> QuerySet[Task]:
    written.append("named")
    here = Token.objects.filter(task=OuterRef("pk"), ended_at=None)
    tasks = Task.objects.select_related("line__project", "requester", "follows").defer(
        "inputs", "line__draft"
    )
    return tasks.annotate(lives=Exists(here)).filter(pk=task, title=title, created_at__lte=Now())


@compiled(tasks=array_field())
def _jobs(tasks: Any) -> QuerySet[Job, tuple[int, str]]:
    return Job.objects.filter(task__among=tasks).order_by("pk").values_list("task_id", "task__title")


@server_prepared(tasks=array_field())
def _kept(tasks: Any) -> QuerySet[Job]:
    return Job.objects.filter(task__among=tasks).select_related("task").defer("outcome").order_by("pk")


@compiled(visits=array_field(UUIDField()), words=array_field(CharField()))
def _titles(visits: Any, words: Any) -> QuerySet[GateVisit, str]:
    found = GateVisit.objects.filter(pk__among=visits, state__among=words)
    return found.order_by("task").values_list("task__title", flat=True)


def test_rows_are_those_of_the_queryset(world: World) -> None:
    version = world.line(**gated())
    one, two = world.start(version, title="One"), world.start(version, title="Two")
    world.report(one)
    world.report(two)
    for task in (one, two):
        [found] = _named(task=task.pk, title=task.title)
        plain = Task.objects.select_related("line__project").get(pk=task.pk)
        assert (found, found.line, found.line.project) == (plain, plain.line, plain.line.project)
        assert found.inputs == plain.inputs
        assert found.requester == plain.requester
        assert found.follows is None
        assert vars(found)["lives"] is True
        assert "draft" not in vars(found.line)
    assert written == ["named"], "written once, whatever the values are"
    assert _named.first(task=one.pk, title="Two") is None
    pairs = [(job.task_id, job.task.title) for job in Job.objects.order_by("pk")]
    assert _jobs(tasks=[one.pk, two.pk]) == pairs
    assert _jobs(tasks=[two.pk]) == [pair for pair in pairs if pair[0] == two.pk]
    assert _jobs(tasks=[]) == []
    visits = [world.visit(task).pk for task in (one, two)]
    assert _titles(visits=visits, words=["open"]) == ["One", "Two"]
    assert _titles(visits=visits, words=["closed", "decided"]) == []


def test_what_the_server_keeps_answers_the_same_each_time(world: World) -> None:
    version = world.line(**gated())
    tasks = [world.start(version, inputs={}, title=title) for title in ("One", "Two")]
    world.report(tasks[0])
    jobs = list(Job.objects.order_by("pk"))
    for count in range(12):  # from the sixth on by a prepared statement, later by one plan for all values
        asked = [task.pk for task in tasks[: 1 + count % 2]]
        found = _kept(tasks=asked)
        assert found == [job for job in jobs if job.task_id in asked]
        assert [job.task.title for job in found] == [job.task.title for job in jobs if job.task_id in asked]
        assert [job.outcome for job in found] == [job.outcome for job in jobs if job.task_id in asked]
    assert _kept(tasks=[]) == []
    with connection.cursor() as cursor:
        text = _kept._statement.sql.replace("%s", "$1")
        cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement = %s", [text])
        assert cursor.fetchone() == (1,)


def test_what_is_fetched_besides_is_refused(world: World) -> None:
    @compiled()
    def with_votes() -> QuerySet[GateVisit]:
        return GateVisit.objects.prefetch_related("votes")

    with pytest.raises(AssertionError, match="statements of its own"):
        with_votes()
