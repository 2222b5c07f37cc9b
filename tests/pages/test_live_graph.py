"""The graph of Live: the line as drawn, and how many open tasks stand where."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpResponse
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import User
from tests.factories import World, station
from tests.pages.conftest import As, at

SignIn = Callable[[Page | BrowserContext, User], None]
STATIONS = [
    station(
        "build",
        {"id": "good", "label": "Good", "when": {"result": "success"}, "to": "ship", "gates": ["look"]},
        {"id": "poor", "label": "Poor", "to": "completed", "gates": ["look"]},
        name="Build",
    ),
    station("ship", name="Ship"),
]
GATES = [{"key": "look", "name": "A look"}]


def told(response: HttpResponse) -> dict[str, Any]:
    found = re.search(r'id="live-told"\s+data-told="([^"]*)"', response.content.decode())
    assert found is not None
    said: dict[str, Any] = json.loads(html.unescape(found[1]))
    return said


@pytest.mark.django_db
def test_it_counts_open_tasks_at_stations_and_at_the_gate_of_the_rule_they_came_by(
    world: World, signed_in: As
) -> None:
    version = world.line(stations=STATIONS, gates=GATES)
    address, client = at(world, "line-live", version.line.key), signed_in(world.viewer)
    for _number in range(2):
        world.start(version)
    world.report(world.start(version, title="Done well"))
    world.report(world.start(version, title="Done badly"), {"result": "failure"})
    said = told(client.get(address, {"view": "graph"}))
    assert said["places"]["build"]["words"].startswith("2 here, oldest ")
    assert "ship" not in said["places"]
    gates = {rule: (mark["state"], mark["words"].partition(",")[0]) for rule, mark in said["gates"].items()}
    assert gates == {"good": ("attention", "1 here"), "poor": ("attention", "1 here")}
    narrowed = told(client.get(address, {"view": "graph", "q": "Done"}))
    assert "build" not in narrowed["places"]


@pytest.mark.django_db
def test_a_push_fetches_the_counts_alone_and_another_version_the_whole_page(
    world: World, signed_in: As
) -> None:
    version = world.line(stations=STATIONS, gates=GATES)
    address, client = at(world, "line-live", version.line.key), signed_in(world.viewer)
    asked = {"view": "graph", "fragment": "board", "drawn": str(version.pk)}
    part = client.get(address, asked)
    assert "data-line-canvas" not in part.content.decode()
    assert "HX-Refresh" not in part.headers
    world.line(stations=[*STATIONS, station("after", name="After")], gates=GATES)
    assert client.get(address, asked).headers["HX-Refresh"] == "true"


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_counts_move_with_the_socket_on_the_drawing_that_stays(
    page: Page, sign_in: SignIn, world: World
) -> None:
    version = world.line(stations=STATIONS, gates=GATES)
    task = world.start(version)
    sign_in(page, world.operator)
    page.goto(f"{at(world, 'line-live', version.line.key)}?view=graph")
    expect(page.locator("[data-live-state]")).to_have_attribute("data-state", "live")
    drawing = page.get_by_role("figure", name=version.line.name)
    here = drawing.locator(".react-flow__node[data-id=build] .shown-over")
    expect(here).to_contain_text("1 here")
    page.evaluate("window.drawn = document.querySelector('#live-drawing .react-flow')")
    world.report(task)
    expect(drawing.locator(".ed-gate[data-rule=good]")).to_contain_text("1 here")
    expect(here).to_have_count(0)
    expect(drawing.locator(".ed-gate[data-rule=poor] .shown-over")).to_have_count(0)
    assert page.evaluate("window.drawn.isConnected")
    places = page.get_by_role("region", name="Where tasks are")
    expect(places.get_by_role("listitem")).to_have_count(1)
    expect(places).to_contain_text(task.name)
    page.get_by_role("link", name="Board", exact=True).click()
    expect(page.locator("[data-column='gate:look']")).to_contain_text(task.name)
