"""No page of a line shows the key of a station, gate or end, or the id of a rule, outside of code."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pprint import pformat
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from pipelines.lines import publishing
from pipelines.models import Line, User
from tests.factories import World, station
from tests.fixtures.site import Site
from tests.pages.conftest import at

STATIONS: list[dict[str, Any]] = [
    station(
        "zq_station_1",
        {"id": "zq-rule-1", "when": {"result": "failure"}, "to": "zq_station_2"},
        {
            "id": "zq-rule-2",
            "when": {"edge": {"from": "zq_station_1", "to": "zq_station_2", "at_least": 2}},
            "to": "zq_end_9",
        },
        {"id": "zq-rule-3", "to": "zq_station_2", "gates": ["zq_gate_8"]},
        name="Alpha",
    ),
    station("zq_station_2", {"id": "zq-rule-4", "to": "zq_end_9"}, name="Beta"),
]
SHOWN = """() => {
  const found = []
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let text; (text = walk.nextNode()); )
    if (/zq[-_]/.test(text.textContent) &&
        !text.parentElement.closest('script, style, template, code, pre, textarea, .ed-example'))
      found.push(text.textContent.trim())
  for (const each of document.querySelectorAll('[title*="zq"], [aria-label*="zq"]')) found.push(each.outerHTML)
  return found
}"""
PAGES = (
    "line",
    "line-draw",
    "line-publish",
    "line-live",
    "line-tasks",
    "line-tests",
    "line-versions",
    "line-difference",
    "line-insights",
    "line-impact",
)


@pytest.fixture
def line(world: World) -> Line:
    """Published, with one task at its gate and one that ended, and a draft that is changed in every way."""
    of = {
        "key": "lined",
        "name": "Lined",
        "stations": STATIONS,
        "gates": [{"key": "zq_gate_8", "name": "A look", "mode": "manual"}],
        "ends": [{"key": "zq_end_9", "kind": "completed", "label": "Sent"}],
    }
    version = world.line(**copy.deepcopy(of))
    world.report(world.start(version))
    ended = world.start(version)
    world.report(ended, {"result": "failure"})
    world.report(ended)
    draft = copy.deepcopy(of)
    first, second = draft["stations"]
    first["rules"] = [
        {**first["rules"][0], "to": "zq_station_7"},
        first["rules"][2],
        {"id": "zq-rule-5", "when": {"result": "blocked"}, "to": "zq_end_6"},
    ]
    second["rules"] = [{"id": "zq-rule-6", "to": "zq_station_1"}]
    third = station("zq_station_7", {"id": "zq-rule-7", "to": "zq_station_1"}, name="Gamma")
    draft["stations"] = [third, first, second]
    draft["ends"] = [{"key": "zq_end_6", "kind": "failed", "label": "Lost"}]
    draft["forbidden_parallel"] = [["zq_station_1", "zq_station_2"]]
    draft["guarantees"] = [{"id": "zq-promise", "never": {"reach": "zq_station_2", "without": "zq_gate_8"}}]
    stored = version.line
    stored.refresh_from_db()
    return publishing.save_draft(stored, draft, world.admin, stored.draft_number)


@pytest.fixture
def entered(page: Page, site: Site, world: World, line: Line, sign_in: Callable[[Page, User], None]) -> Page:
    sign_in(page, world.admin)
    return page


def shown(page: Page) -> list[str]:
    """Every fold is opened first."""
    expect(page.locator(".skeleton:visible")).to_have_count(0)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    found: list[str] = page.evaluate(SHOWN)
    return found


def test_no_page_of_a_line_shows_a_key_outside_of_code(entered: Page, world: World, line: Line) -> None:
    found = {}
    for name in PAGES:
        entered.goto(at(world, name, line.key))
        if name == "line-publish":
            expect(entered.locator("[data-cells] tbody tr").first).to_be_visible()
        if said := shown(entered):
            found[name] = said
    assert found == {}, pformat(found, width=110)


@pytest.mark.wide
def test_no_page_of_its_tasks_and_reviews_shows_a_key(entered: Page, world: World, line: Line) -> None:
    found = {}
    addresses = [reverse("inbox")]
    for task in line.tasks.all():
        addresses += [at(world, "task", task.name), at(world, "task", task.name) + "?station=zq_station_1"]
    visit = world.visit(line.tasks.earliest("id"))
    addresses.append(reverse("gate-visit", args=[visit.pk]))
    for address in addresses:
        entered.goto(address)
        if said := shown(entered):
            found[address] = said
    assert found == {}, pformat(found, width=110)
