"""Pausing and resuming over the API (law §17)."""

from __future__ import annotations

import pytest

from pipelines.work.scheduler import timers
from tests.api.conftest import Apis
from tests.engine.test_pauses import line
from tests.factories import World, make_member

pytestmark = pytest.mark.django_db

WHAT = {
    "project": "",
    "line": "/lines/line",
    "task": "/stages/line/tasks/{task}",
}


@pytest.mark.parametrize("which", WHAT)
def test_it_is_paused_listed_and_resumed(api: Apis, world: World, which: str) -> None:
    task = world.start(line(world))
    client, path = api.as_(world.admin, "read", "report", "settings"), WHAT[which].format(task=task.name)
    made = client.post(f"{path}/pause", {"reason": "Release freeze"})
    assert made.status_code == 200, made.content
    timers.run_due_timers_and_triggers()
    assert client.get("/pauses").json() == [made.json()]
    assert (made.json()["by"], made.json()["reason"]) == (str(world.admin), "Release freeze")
    assert world.status(task) == "held"
    twice = client.post(f"{path}/pause", {})
    assert twice.status_code == 409 and str(world.admin) in twice.json()["detail"]
    assert client.post(f"{path}/resume", {}).status_code == 204
    timers.run_due_timers_and_triggers()
    assert (world.status(task), client.get("/pauses").json()) == ("queued", [])
    assert client.post(f"{path}/resume", {}).status_code == 409


def test_one_station_of_a_line_is_paused(api: Apis, world: World) -> None:
    task = world.start(line(world))
    client = api.as_(world.operator)
    assert client.post("/lines/line/pause", {"station": "nowhere"}).status_code == 400
    assert client.post("/lines/line/pause", {"station": "build"}).json()["station"] == "build"
    timers.run_due_timers_and_triggers()
    assert world.status(task) == "held"
    assert client.post("/lines/line/resume", {}).status_code == 409
    assert client.post("/lines/line/resume", {"station": "build"}).status_code == 204


def test_who_only_looks_pauses_nothing(api: Apis, world: World) -> None:
    task = world.start(line(world))
    viewer = api.as_(make_member(world.project, "viewer"))
    for path in ("/lines/line", f"/stages/line/tasks/{task.name}", ""):
        assert viewer.post(f"{path}/pause", {}).status_code == 403
    assert api.as_(world.operator).post("/pause", {}).status_code == 403
