"""What a task cost, on its page and on the board."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from pipelines.queries import usage
from tests.factories import World
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db


def costing(**usage: Any) -> dict[str, Any]:
    return {"exit_code": 0, "facts": {"usage": usage}}


def test_the_cost_of_a_task_is_shown_with_its_limit_and_no_price_is_no_zero(
    world: World, signed_in: As
) -> None:
    plan = {"key": "plan", "name": "Plan", "work": {"kind": "noop"}, "limits": {"cost_usd": 1}}
    line = world.line(stations=[plan, "code", "ship"], limits={"cost_usd": 2})
    task = world.start(line)
    client = signed_in(world.viewer)
    assert "Cost" not in text(client.get(at(world, "task", task.name)))
    world.report(task, costing(cost_usd=0.4, tokens_in=1_200, tokens_out=34, price="reported"))
    world.report(task, costing(tokens_in=1, price="none"))
    page = text(client.get(at(world, "task", task.name)))
    shown = " ".join(re.sub(r"<[^>]*>", " ", page).split())
    assert "$0.40 of $2.00 at most + 1 run without a price · 1,235 tokens" in shown
    assert 'title="Plan: $0.40; code: no price"' in page
    assert "$0.00" not in page
    board = text(client.get(at(world, "line-live", line.line.key)))
    assert "Cost: $0.40 + 1 run without a price" in board


def test_a_line_without_prices_says_nothing_of_cost(world: World, signed_in: As) -> None:
    task = world.start(world.line(stations=["plan", "ship"]))
    world.report(task)
    client = signed_in(world.viewer)
    assert "Cost" not in text(client.get(at(world, "task", task.name))) + text(
        client.get(at(world, "line-live", task.line.key))
    )


def test_a_program_that_calls_no_model_has_no_cost_at_all(world: World, signed_in: As) -> None:
    task = world.start(world.line(stations=["plan", "ship"]))
    world.report(task, costing(price="none"))
    client = signed_in(world.viewer)
    page = text(client.get(at(world, "task", task.name)))
    assert "no price" not in page and "<dt>Cost</dt>" not in page
    assert usage.spending_by_task_id([task.pk]) == {}


@pytest.mark.wide
def test_insights_tell_the_cost_by_station_line_and_month(world: World, signed_in: As) -> None:
    line = world.line(stations=["plan", "code"])
    task = world.start(line)
    world.report(task, costing(cost_usd=1.5, tokens_in=1_200, tokens_out=34, price="reported"))
    world.report(task, costing(tokens_in=1, price="none"))
    client = signed_in(world.admin)
    page = words(text(client.get(at(world, "line-insights", line.line.key))))
    assert "2 decisions in this period" in page
    assert "$1.50 + 1 run without a price in all" in page and "noop Not reported 1 $1.50" in page
    insights = words(text(client.get(at(world, "insights"))))
    assert "$1.50 + 1 run without a price 2 1.2k tokens in, 34 out" in insights
    assert "Line 1 0 s $1.50" in insights
    client.post(at(world, "project-cost-limit"), {"month_cost_usd": "6"})
    assert "$1.50 + 1 run without a price of $6.00" in words(text(client.get(at(world, "insights"))))
    general = text(client.get(at(world, "project-general")))
    assert "This month: $1.50" in general and 'value="6.00"' in general
    assert client.post(at(world, "project-cost-limit"), {"month_cost_usd": "-1"}).status_code == 422
    client.post(at(world, "project-cost-limit"), {"month_cost_usd": "0"})
    assert "agents cannot run" in text(client.get(at(world, "project-general")))
    client.post(at(world, "project-cost-limit"), {"month_cost_usd": ""})
    unlimited = text(client.get(at(world, "project-general")))
    assert 'value="None"' not in unlimited and "agents cannot run" not in unlimited
    assert "of $6.00" not in words(text(client.get(at(world, "insights"))))
    assert "Removed the monthly cost limit" in text(client.get(at(world, "project-audit")))


@pytest.mark.wide
def test_statements_of_insights_do_not_grow_with_runs(world: World, signed_in: As) -> None:
    line, client = world.line(stations=["plan"]), signed_in(world.admin)
    counts = []
    for tasks in (1, 9):
        for _ in range(tasks):
            world.report(world.start(line), costing(cost_usd=0.1, price="reported"))
        for name in ("insights", "line-insights"):
            more = [line.line.key] if name == "line-insights" else []
            with CaptureQueriesContext(connection) as found:
                client.get(at(world, name, *more))
            counts.append(len(found))
    assert counts[:2] == counts[2:]


def words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def test_the_cost_of_a_month_is_read_by_its_index(world: World) -> None:
    """And not by looking at the outcome of every run that there ever was."""
    with CaptureQueriesContext(connection) as caught:
        usage.spending_of_month(world.project.pk)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {caught[0]['sql']}")
        plan = "\n".join(row for (row,) in cursor.fetchall())
    assert "job_of_cost" in plan, plan
