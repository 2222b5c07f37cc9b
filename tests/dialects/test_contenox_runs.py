"""contenox B8, B10, B17, B18: loops and the end of a chain. Real engine."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.models import Task
from tests.factories import World, station
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db


def on(rule: str, text: str, to: str, **more: Any) -> dict[str, Any]:
    return {"id": rule, "when": {"eval": {"op": "equals", "value": text}}, "to": to, **more}


def chain(world: World, *stations: Any, **more: Any) -> Task:
    return world.start(world.line(stations=stations, preset="contenox", **more))


def test_B10_the_task_fails_and_keeps_the_name_of_why(world: World) -> None:
    task = chain(world, station("ask", on("r", "yes", "act")), "act")
    world.report(task, {"eval": "no"})
    task.refresh_from_db()
    assert (task.status, task.error) == ("failed", "NoValidTransition")
    assert task.reason == "No rule takes the eval “no”."


def test_B8_a_leaf_ends_and_its_page_says_that_the_line_wants_it_so(world: World, signed_in: As) -> None:
    task = chain(world, "ask")
    world.report(task, {"eval": "whatever"})
    assert world.status(task) == "completed"
    page = text(signed_in(world.viewer).get(at(world, "task", task.name)))
    assert "no rule matched → the task ends · station failed → task fails" in page


def test_B17_a_loop_counts_the_edges_of_this_task_only(world: World) -> None:
    enough = {"id": "enough", "when": {"edge": {"from": "chat", "to": "tools", "at_least": 2}}, "to": "tell"}
    stations = [
        station("chat", enough, on("call", "tool-call", "tools")),
        station("tools", {"id": "back", "to": "chat"}),
        "tell",
    ]
    version = world.line(stations=stations, preset="contenox")
    other, task = world.start(version), world.start(version)
    world.report(other, {"eval": "tool-call"})
    for _ in range(2):
        world.report(task, {"eval": "tool-call"})
        world.report(task)
    world.report(task, {"eval": "tool-call"})
    assert world.at(task) == ["tell"]
    world.report(other)
    world.report(other, {"eval": "tool-call"})
    assert world.at(other) == ["tools"]


def test_B18_tasks_that_are_not_reached_never_run(world: World) -> None:
    task = chain(world, station("first", on("r", "yes", "third")), "second", "third")
    world.report(task, {"eval": "yes"})
    world.report(task)
    assert world.status(task) == "completed"
    assert list(task.jobs.order_by("pk").values_list("station", flat=True)) == ["first", "third"]
