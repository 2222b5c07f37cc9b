"""The page with the lines of a project: what each did lately, found, sorted, and examples folded away."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from pipelines.lines import publishing
from pipelines.lines.demo.example import OF_DIALECTS
from pipelines.models import Task
from pipelines.ports.terms import SHIPPED
from pipelines.queries.line_list import ListedLine, listed_lines
from tests.factories import World, document
from tests.pages.conftest import As, at, text
from tests.pages.insights_data import history_rewritten, seed

pytestmark = pytest.mark.django_db


def rows(world: World) -> dict[str, ListedLine]:
    return {row.line.key: row for row in listed_lines(world.project, timezone.now())}


@pytest.mark.broken
def test_a_line_says_what_it_did_in_thirty_days(world: World) -> None:
    seed(world, tasks=24, days=50)
    late = world.start(
        world.line(document(key="late")), due_at=(timezone.now() + timedelta(hours=1)).isoformat()
    )
    with history_rewritten():
        Task.objects.filter(pk=late.pk).update(due_at=timezone.now() - timedelta(hours=1))
    listed = rows(world)
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT line.key, count(*), count(*) FILTER (WHERE task.status = 'completed'), max(task.ended_at),
                 (SELECT sum((job.outcome#>>'{facts,usage,cost_usd}')::numeric) FROM pipelines_job job
                  JOIN pipelines_task of ON of.id = job.task_id
                  WHERE of.line_id = line.id AND job.ended_at > now() - interval '30 days')
               FROM pipelines_task task JOIN pipelines_line line ON line.id = task.line_id
               WHERE task.ended_at > now() - interval '30 days' GROUP BY line.id, line.key"""
        )
        for key, ended, accepted, last_end, cost in cursor.fetchall():
            row = listed[key]
            assert (row.ended, row.accepted, row.last_end, row.spending.cost) == (
                ended,
                accepted,
                last_end,
                cost,
            )
    assert listed["release"].ended > listed["fixes"].ended > 0
    assert (listed["late"].late, listed["release"].late, listed["late"].accepted_percent) == (
        1,
        0,
        None,
    )


def test_lines_are_found_by_name_and_description_and_sorted(world: World, signed_in: As) -> None:
    world.line(document(key="alpha", name="Alpha", description="Merges what people approved."))
    world.start(world.line(document(key="beta", name="Beta")))
    client, address = signed_in(world.viewer), at(world, "lines")
    shown = text(client.get(address))
    assert shown.index(">Alpha<") < shown.index(">Beta<") and "Merges what people approved." in shown
    sorted_by_open = text(client.get(address, {"sort": "open"}))
    assert sorted_by_open.index(">Beta<") < sorted_by_open.index(">Alpha<")
    found = text(client.get(address, {"q": "PEOPLE merges"}))
    assert ">Alpha<" in found and ">Beta<" not in found
    assert "No lines match" in text(client.get(address, {"q": "nothing like it", "sort": "x"}))


def test_examples_that_are_as_shipped_are_folded_beside_other_lines(world: World, signed_in: As) -> None:
    shipped = document(key=OF_DIALECTS[0], name="Of a dialect")
    line = publishing.create_line(world.project, shipped["key"], shipped["name"], shipped, world.admin)
    version = publishing.publish_draft(line, user=world.admin, name=SHIPPED, based_on=line.draft_number)
    client, address = signed_in(world.admin), at(world, "lines")
    assert "<details" not in text(client.get(address)).partition('id="lines"')[2]
    world.line(document(key="own", name="Our own"))
    folded = text(client.get(address)).partition('id="lines"')[2].partition("<details")
    assert "Our own" in folded[0] and "Of a dialect" in folded[2]
    assert "<details" not in text(client.get(address, {"q": "dialect"})).partition('id="lines"')[2]
    world.start(version)
    assert "<details" not in text(client.get(address)).partition('id="lines"')[2], "it is used"


def test_many_lines_cost_as_many_statements_as_few(world: World) -> None:
    def statements() -> int:
        with CaptureQueriesContext(
            connection,
        ) as sent:
            listed_lines(world.project, timezone.now())
        return len(sent)

    world.report(world.start(world.line(document(key="line0"))), {"result": "success"})
    few = statements()
    for number in range(1, 8):
        task = world.start(world.line(document(key=f"line{number}")))
        world.report(task, {"result": "success"})
    assert statements() == few
