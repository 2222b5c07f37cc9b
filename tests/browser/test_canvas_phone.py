"""A line on a phone: the buttons of the editor stand over the navigation, no sign explains a name that nobody sees, and
names as long as they may be break neither pages nor drawings."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from pipelines.lines import publishing
from pipelines.models import Line
from tests.browser.conftest import Enter
from tests.factories import World, document, station
from tests.fixtures.browser import PHONE
from tests.pages.conftest import at

WORDS, LETTERS = ("Implement what was planned in the long meeting. " * 5)[:200], "W" * 200
BEYOND = """() => {
  const scrolls = (each) => ["auto", "scroll"].includes(getComputedStyle(each).overflowX);
  const within = (each) => each && (scrolls(each) || within(each.parentElement));
  return [...document.querySelectorAll("main *, header *, nav *")]
    .filter((each) => each.checkVisibility() && !each.closest(".react-flow, svg") && !within(each.parentElement)
      && each.getBoundingClientRect().right > innerWidth + 1)
    .map((each) => each.outerHTML.slice(0, 160));
}"""
"""Gives what reaches beyond the right edge of the window, but for what scrolls there."""


@pytest.fixture
def line(world: World) -> Line:
    """Each name as long as it may be, of words and of one word."""
    passed = {"id": "on", "when": {"result": "success"}, "to": "ship", "gates": ["look"], "label": WORDS}
    failed = {"id": "bad", "when": {"result": "failure"}, "to": "failed", "label": LETTERS}
    stations = [
        station("build", passed, failed, name=WORDS),
        station("ship", {"id": "done", "to": "completed"}, name=LETTERS),
    ]
    ends = [
        {"key": "completed", "kind": "completed", "label": LETTERS},
        {"key": "failed", "kind": "failed", "label": WORDS},
    ]
    gates = [{"key": "look", "name": LETTERS}]
    given = document(stations, key="long", name=WORDS, gates=gates, ends=ends)
    made = publishing.create_line(world.project, "long", WORDS, given, world.admin)
    publishing.publish_draft(made, user=world.admin, based_on=made.draft_number)
    return made


def box(place: Locator) -> dict[str, float]:
    found = place.bounding_box()
    assert found
    return dict(found)


def test_the_editor_on_a_phone(line: Line, page: Page, enter_canvas: Enter) -> None:
    page.set_viewport_size(PHONE)
    enter_canvas(line)
    bar, navigation = box(page.locator("#editor-bar")), box(page.locator(".bottom-nav"))
    for button in page.locator("#editor-bar .button:visible").all():
        reached = box(button)
        assert reached["y"] + reached["height"] <= navigation["y"]
    assert bar["y"] + bar["height"] == pytest.approx(navigation["y"], abs=1)
    page.locator(".ed-outline-name").first.click()
    page.get_by_role("tab", name="Rules").click()
    page.locator(".ed-inspector .ed-rule-head").first.click()
    expect(page.locator(".ef-when select").first).to_be_visible()
    assert page.locator(".ef-when .field-more:visible").count() == 0
    assert page.evaluate(BEYOND) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.wide
@pytest.mark.parametrize("name", ["line-versions", "lines"])
def test_no_page_of_a_line_is_wider_than_a_phone(
    world: World, line: Line, page: Page, enter_canvas: Enter, name: str
) -> None:
    page.set_viewport_size(PHONE)
    enter_canvas(line)
    on: list[Any] = [] if name == "lines" else [line.key]
    page.goto(at(world, name, *on))
    if on:
        expect(page.locator(".line-shown .ed-station")).to_have_count(2)
    assert page.evaluate(BEYOND) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
