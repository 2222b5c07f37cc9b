"""Where a gate leads what people reject, on the canvas: seen, walked to, clicked, lit up by the path that breaks a
promise, and gone when a rejection ends the task."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from pipelines.lines.publishing import create_line
from pipelines.models import User
from tests.browser.canvas import middle, node, saved
from tests.factories import World, document, station
from tests.fixtures.site import Site
from tests.pages.conftest import at

LOOK = {"key": "look", "name": "Plan approval", "mode": "manual", "on_reject": "route:triage"}
PROMISE = {"id": "never", "after": {"gate": "look", "word": "reject"}, "never": {"reach": "build"}}


@pytest.mark.wide
def test_what_a_gate_rejects_leaves_it_below_with_its_word(
    world: World, page: Page, site: Site, sign_in: Callable[[Page, User], None]
) -> None:
    stations = [
        station(
            "plan",
            {"id": "ready", "when": {"result": "success"}, "to": "build", "gates": ["look"]},
            {"id": "not-ready", "when": {"result": "failure"}, "to": "triage"},
            name="Plan",
        ),
        station("triage", {"id": "fixed", "to": "build"}, name="Triage"),
        station("build", {"id": "done", "to": "completed"}, name="Build"),
    ]
    line = document(stations, key="drawn", gates=[LOOK], guarantees=[PROMISE])
    create_line(world.project, "drawn", "Drawn", line, world.admin)
    sign_in(page, world.admin)
    page.goto(at(world, "line-draw", "drawn"))
    way = page.locator('.ed-way[data-rule="ready@rejected"]')
    edge = page.locator('.react-flow__edge[data-id="ready@rejected>triage"]')
    word = page.locator('.ed-words[data-rule="ready@rejected"]')
    hexagon = page.locator(".ed-gate .ed-hexagon")
    expect(edge).to_have_attribute("aria-label", "From Plan to Triage · Rejected by Plan approval")
    expect(word).to_have_text("rejected")
    assert middle(word)[1] > middle(hexagon)[1]
    assert middle(word)[0] > middle(hexagon)[0]
    assert middle(node(page, "triage"))[1] > middle(node(page, "build"))[1]
    node(page, "plan").focus()
    for key in ("ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    expect(edge).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(node(page, "triage")).to_be_focused()
    word.click()
    inspector = page.locator(".ed-inspector")
    expect(inspector.get_by_role("textbox", name="Name")).to_have_value("Plan approval")
    page.get_by_role("button", name="Show the path").click()
    expect(way).to_have_attribute("data-mark", "taken")
    expect(page.locator('.ed-way[data-rule="ready"]')).to_have_attribute("data-mark", "not")
    page.get_by_role("button", name="Hide the path").click()
    page.get_by_role("button", name="Fix: end the task").click()
    saved(page)
    expect(way).to_have_count(0)
