"""What a task cost, on its page and on the board."""

from __future__ import annotations

import re
from typing import Any

import pytest

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
