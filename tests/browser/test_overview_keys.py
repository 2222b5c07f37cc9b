"""The overview of a line by keyboard alone, and its rules tied to the drawing."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from pipelines.models import User
from tests.factories import World, station
from tests.fixtures.site import Site
from tests.pages.conftest import at

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page, User], None]

RULES = [
    {"id": "good", "label": "Good", "when": {"result": "success"}, "to": "ship", "gates": ["look"]},
    {"id": "poor", "label": "Poor", "when": {"result": "failure"}, "to": "failed"},
]
MOST = 80
"""Stops of the whole page."""
FOCUSED = """() => {
    const each = document.activeElement;
    const {outlineStyle, outlineWidth} = getComputedStyle(each);
    const {top, bottom, width} = each.getBoundingClientRect();
    const name = each.getAttribute("aria-label") || each.textContent.trim().replace(/\\s+/g, " ");
    const seen = outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
    return {name, seen, inside: bottom > 0 && top < innerHeight && width > 0, body: each === document.body};
}"""


@pytest.fixture
def overview(page: Page, site: Site, sign_in: SignIn, world: World) -> Page:
    version = world.line(
        stations=[station("build", *RULES, name="Build"), station("ship", name="Ship")],
        gates=[{"key": "look", "name": "A look"}],
    )
    sign_in(page, world.admin)
    page.goto(at(world, "line", version.line.key))
    expect(page.get_by_role("link", name="Station Build")).to_be_visible()
    return page


def test_tab_reaches_all_of_it_in_the_order_of_reading_and_is_seen(overview: Page) -> None:
    names: list[str] = []
    for _ in range(MOST):
        overview.keyboard.press("Tab")
        focused = overview.evaluate(FOCUSED)
        if focused["body"]:
            break
        assert focused["seen"], f"nobody sees that {focused['name']} has the focus"
        assert focused["inside"], f"{focused['name']} has the focus out of view"
        names.append(focused["name"])
    wanted = [
        "Overview",
        "Follow Line",
        "Start a task",
        "Station Build",
        "Station Ship",
        "Follow Build",
        "Show rule 1 of Build on the drawing",
        "Show rule 2 of Build on the drawing",
        "Details",
        "All versions",
        "Insights",
    ]
    rest = iter(names)
    assert [name for name in wanted if name not in rest] == [], names


@pytest.mark.wide
def test_enter_does_what_has_the_focus(overview: Page) -> None:
    shows = overview.get_by_role("button", name="Show rule 2 of Build on the drawing")
    way = overview.locator('.ed-way[data-rule="poor"]')
    shows.focus()
    expect(way).to_have_attribute("data-chosen", "true")
    shows.press("Enter")
    expect(shows).to_be_focused()
    expect(way).to_have_attribute("data-chosen", "true")
    overview.keyboard.press("Shift+Tab")
    expect(way).not_to_have_attribute("data-chosen", "true")
    expect(overview.locator('.ed-way[data-rule="good"]')).to_have_attribute("data-chosen", "true")
    station = overview.get_by_role("region", name="Build")
    details = station.locator("summary")
    details.focus()
    details.press("Enter")
    expect(station.get_by_text("Otherwise")).to_be_visible()
    link = overview.get_by_role("link", name="Station Build")
    link.focus()
    link.press("Enter")
    expect(overview).to_have_url(re.compile("#station-build$"))
    expect(station).to_be_in_viewport()


@pytest.mark.wide
def test_an_edge_under_the_pointer_marks_its_row_and_a_row_its_edge(overview: Page) -> None:
    row = overview.locator('.ruled-rule[data-show-rule="poor"]')
    overview.locator('.ed-words[data-rule="poor"]').hover()
    expect(row).to_have_attribute("data-lit", "")
    expect(overview.locator("[data-lit]")).to_have_count(1)
    row.hover()
    expect(overview.locator('.ed-way[data-rule="poor"]')).to_have_attribute("data-chosen", "true")
    overview.get_by_role("heading", name="Guarantees").or_(
        overview.get_by_role("heading", level=1)
    ).first.hover()
    expect(overview.locator(".ed-way[data-chosen]")).to_have_count(0)
    expect(overview.locator("[data-lit]")).to_have_count(0)
