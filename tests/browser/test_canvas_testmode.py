"""Test mode of the canvas in a real browser: a walk by mouse, the same by keyboard alone, an edit under way, a scenario
kept and opened again."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from pipelines.lines.publishing import create_line
from pipelines.models import Line
from tests.browser.canvas import node
from tests.browser.conftest import Enter
from tests.factories import World, document, station

AGAIN = {"id": "again", "label": "Try again", "when": {"result": "failure"}, "to": "build", "max_retries": 1}
HIGH = {"output": {"path": "$.high", "op": "gt", "value": 0}}
RULES = (
    AGAIN,
    {"id": "high", "label": "Something high", "when": HIGH, "to": "fix"},
    {"id": "on", "label": "Built", "to": "ship", "gates": ["look"]},
)
DOCUMENT = document(
    key="drawn",
    stations=[
        station("build", *RULES, name="Build"),
        station("fix", {"id": "fixed", "to": "build"}, name="Fix"),
        station("ship", {"id": "shipped", "to": "completed"}, name="Ship"),
    ],
    gates=[{"key": "look", "name": "A look"}],
)


@pytest.fixture
def line(world: World) -> Line:
    return create_line(world.project, "drawn", "Drawn", DOCUMENT, world.admin)


@pytest.fixture
def canvas(line: Line, enter_canvas: Enter) -> Page:
    return enter_canvas(line)


def panel(page: Page) -> Locator:
    return page.get_by_role("complementary", name="Simulate this line")


def way(page: Page, rule: str) -> Locator:
    return page.locator(f'.ed-way[data-rule="{rule}"], .ed-retry[data-rule="{rule}"]')


def place(page: Page, key: str) -> Locator:
    """What the test says over a station."""
    return page.locator(f'.ed-test-mark[data-place="{key}"]')


def steps(page: Page) -> Locator:
    return page.get_by_role("region", name="What happened").get_by_role("listitem")


@pytest.mark.wide
def test_a_walk_by_mouse_colours_the_way_is_rewound_and_kept_as_a_test(canvas: Page, line: Line) -> None:
    canvas.get_by_role("button", name="Simulate", exact=True).click()
    test = panel(canvas)
    test.get_by_role("button", name="Take rule 1: Try again").click()
    expect(way(canvas, "again")).to_have_attribute("data-mark", "taken")
    expect(place(canvas, "build")).to_contain_text("ran ×2")
    # Its retry is used up: the rule is there, and says what would come of it now.
    expect(test.get_by_role("button", name="Take rule 1: Try again")).to_contain_text("Not now")
    test.get_by_role("button", name="Take rule 3: Built").click()
    expect(place(canvas, "build")).to_contain_text("Waiting for review")
    expect(test.get_by_role("button", name="Reject")).to_contain_text("The task fails.")
    test.get_by_role("button", name="Approve").click()
    test.get_by_role("button", name="Take rule 1").click()
    expect(test).to_contain_text("It ended: Completed")
    expect(test.get_by_role("region", name="Why")).to_contain_text("Matched")
    steps(canvas).nth(1).get_by_role("button").click()
    expect(place(canvas, "build")).to_contain_text("Has to report")
    expect(way(canvas, "on")).to_have_attribute("data-mark", "not")
    assert Axe().run(canvas).response["violations"] == []
    # Another outcome from here on; what had come after it is no more.
    test.get_by_text("Fill in a whole outcome").click()
    test.get_by_label("Exit code").fill("two")
    test.get_by_role("button", name="Report it").click()
    expect(test.get_by_label("Exit code")).to_have_accessible_description("has to be a whole number")
    test.get_by_label("Exit code").fill("")
    test.get_by_label("Output: high").fill("2")
    test.get_by_role("button", name="Report it").click()
    expect(place(canvas, "fix")).to_contain_text("Has to report")
    expect(steps(canvas)).to_have_count(3)
    test.get_by_label("Name").fill("Failed, then high")
    test.get_by_role("button", name="Save", exact=True).click()
    expect(canvas.get_by_role("heading", name="Failed, then high")).to_be_visible()
    stored = line.scenarios.get()
    assert stored.document["expect"] == {
        "path": ["build", "build", "fix"],
        "rules": ["again", "high"],
        "status": "queued",
    }


@pytest.mark.wide
def test_the_whole_of_it_by_keyboard_alone(canvas: Page) -> None:
    canvas.keyboard.press("Shift+T")
    test = panel(canvas)
    expect(test.get_by_role("heading", name="Simulate this line")).to_be_focused()
    choose(canvas, test.get_by_role("button", name="Take rule 3: Built"))
    expect(test.get_by_role("button", name="Build", exact=True)).to_be_focused()
    choose(canvas, test.get_by_role("button", name="Send back"))
    expect(steps(canvas)).to_have_count(3)
    expect(place(canvas, "build")).to_contain_text("Has to report")
    canvas.keyboard.press(",")
    expect(place(canvas, "build")).to_contain_text("Waiting for review")
    current = steps(canvas).nth(1).get_by_role("button")
    current.focus()
    canvas.keyboard.press("ArrowLeft")
    expect(steps(canvas).nth(0).get_by_role("button")).to_be_focused()
    expect(steps(canvas).nth(0).get_by_role("button")).to_have_attribute("aria-current", "step")
    canvas.keyboard.press("End")
    expect(steps(canvas).nth(2).get_by_role("button")).to_have_attribute("aria-current", "step")
    canvas.keyboard.press("Escape")
    expect(test).to_have_count(0)
    expect(canvas.get_by_role("button", name="Simulate", exact=True)).to_be_focused()


def choose(page: Page, choice: Locator) -> None:
    expect(choice).to_be_visible()
    for _ in range(12):
        if choice.evaluate("element => element === document.activeElement"):
            break
        page.keyboard.press("Tab")
    expect(choice).to_be_focused()
    page.keyboard.press("Enter")


@pytest.mark.wide
def test_an_edit_under_way_says_where_the_walk_now_differs(canvas: Page) -> None:
    canvas.get_by_role("button", name="Simulate", exact=True).click()
    test = panel(canvas)
    test.get_by_role("button", name=re.compile("^Failure")).click()
    expect(place(canvas, "build")).to_contain_text("ran ×2")
    test.get_by_role("button", name=re.compile("^Success")).click()
    expect(place(canvas, "build")).to_contain_text("Waiting for review")
    node(canvas, "build").click()
    canvas.get_by_role("tab", name="Rules").click()
    canvas.locator(".ed-rule .ed-rule-head").first.focus()
    canvas.keyboard.press("Alt+ArrowDown")
    canvas.keyboard.press("Alt+ArrowDown")
    said = test.get_by_role("alert")
    expect(said).to_contain_text("Since the edit, step 1 is routed differently")
    expect(said).to_contain_text("Before: Rule 1 of Build, “Try again”, matched")
    canvas.get_by_role("button", name="Undo").click()
    canvas.get_by_role("button", name="Undo").click()
    expect(said).to_have_count(0)


@pytest.mark.wide
def test_one_is_made_for_each_rule_run_opened_and_shown_on_the_canvas(canvas: Page, line: Line) -> None:
    canvas.get_by_role("tab", name="Scenarios").click()
    tab = canvas.get_by_role("tabpanel")
    expect(tab).to_contain_text("No scenarios yet")
    tab.get_by_role("button", name="One per live rule").click()
    expect(tab).to_contain_text("5 of 5 rules covered, 100%")
    expect(tab.get_by_text("Passed", exact=True)).to_have_count(5)
    tab.get_by_label("Show on the canvas").check()
    expect(canvas.locator('.ed-covered[data-covered="taken"]')).to_have_count(5)
    tab.get_by_role("button", name="Open Build: Something high").click()
    test = canvas.get_by_role("complementary", name="Simulate this line")
    expect(test.get_by_role("heading", name="Build: Something high")).to_be_visible()
    expect(place(canvas, "fix")).to_contain_text("Has to report")
    assert line.scenarios.filter(source="generated").count() == 5
