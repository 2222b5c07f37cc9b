"""The table of tasks says where each open one is, and offers views that many look at."""

from __future__ import annotations

import pytest

from tests.factories import World, document, station
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db


def test_an_open_task_says_its_station_or_the_gate_that_it_waits_at(world: World, signed_in: As) -> None:
    build = station("build", {"id": "on", "to": "ship", "gates": ["look"]}, name="Build it")
    line = document([build, "ship"], gates=[{"key": "look", "name": "Release review"}])
    version = world.line(line)
    waiting, queued, ended = (world.start(version, title=f"Task {n}") for n in range(3))
    world.report(waiting)
    world.report(ended)
    world.vote(ended)
    world.report(ended)
    shown = text(signed_in(world.viewer).get(at(world, "tasks")))
    rows = {
        name: shown.partition(f">{name}<")[2].partition("</tr>")[0]
        for name in (ended.name, queued.name, waiting.name)
    }
    assert "Release review" in rows[waiting.name] and "Build it" not in rows[waiting.name]
    assert "Build it" in rows[queued.name]
    assert "Build it" not in rows[ended.name] and "ship" not in rows[ended.name].lower()


def test_a_view_is_marked_where_the_page_shows_it(world: World, signed_in: As) -> None:
    world.report(world.start(world.line(document([station("build")]))), {"result": "failure"})
    client, address = signed_in(world.viewer), at(world, "tasks")
    for query, label in (
        ({}, "All"),
        ({"status": "open"}, "Open"),
        ({"late": "yes"}, "Late"),
        ({"status": "failed", "since": "7d"}, "Failed in 7 days"),
    ):
        shown = text(client.get(address, query))
        assert f'aria-current="true">{label}</a>' in shown, label
    views = text(client.get(address, {"q": "x"})).partition("task-views")[2].partition("</nav>")[0]
    assert "Open" in views and "aria-current" not in views
