"""Where the policy leads what no rule takes, on the canvas: seen, clicked, walked to, and gone when a rule takes it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from pipelines.lines.publishing import create_line
from pipelines.models import User
from tests.browser.canvas import line_settings, middle, node, saved
from tests.factories import World, document, station
from tests.fixtures.site import Site
from tests.pages.conftest import at

SKIP = {"id": "skip", "label": "Skip it", "when": {"result": "failure"}, "to": "ship"}
WORDS = "Otherwise: No rule matched → on to Check · station failed → task fails"


@pytest.mark.wide
def test_the_policy_leads_on_above_the_rules_in_the_straight_row(
    world: World, page: Page, site: Site, sign_in: Callable[[Page, User], None]
) -> None:
    stations = [
        station("build", SKIP, name="Build"),
        station("check", name="Check"),
        station("ship", name="Ship"),
    ]
    create_line(world.project, "drawn", "Drawn", document(stations, key="drawn"), world.admin)
    sign_in(page, world.admin)
    page.goto(at(world, "line-draw", "drawn"))
    circle = node(page, "build").get_by_role("button", name=WORDS)
    edge = page.locator('.react-flow__edge[data-id="build@onward>check"]')
    expect(circle).to_have_attribute("title", WORDS)
    expect(edge).to_have_attribute("aria-label", f"From Build to Check · {WORDS}")
    expect(page.locator('.ed-way[data-rule="build@onward"]')).to_have_attribute("data-main", "true")
    assert middle(circle)[1] < middle(node(page, "build").locator('[data-port="skip"]'))[1]
    line_settings(page, "Inputs")
    circle.click()
    expect(page.get_by_role("tab", name="Rules")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".ed-inspector")).to_contain_text("Otherwise")
    node(page, "build").focus()
    for key in ("ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    expect(edge).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(node(page, "check")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(node(page, "build")).to_be_focused()
    page.get_by_role("button", name="Add rule").click()
    saved(page)
    expect(circle).to_have_count(0)
    expect(edge).to_have_count(0)
