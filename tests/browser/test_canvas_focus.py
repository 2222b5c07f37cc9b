"""Whoever works by keyboard never loses their place: what takes the focused thing away leaves the focus beside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from pipelines.lines.publishing import create_line
from pipelines.models import Line, User
from tests.browser.canvas import add_station, node, saved
from tests.browser.conftest import Enter
from tests.factories import World, document, station
from tests.reviews.inbox_items import question
from tests.waiting import until

ALL = {"id": "all", "to": "ship"}
LATE = {"id": "late", "label": "Late", "when": {"result": "failure"}, "to": "failed"}


@pytest.fixture
def line(world: World) -> Line:
    stations: list[Any] = [station("build", ALL, LATE), station("ship", kind="manual")]
    return create_line(world.project, "drawn", "Drawn", document(stations, key="drawn"), world.admin)


@pytest.fixture
def page_(line: Line, enter_canvas: Enter) -> Page:
    return enter_canvas(line)


def edge(page: Page, rule: str, target: str) -> Locator:
    return page.locator(f'.react-flow__edge[data-id="{rule}>{target}"]')


@pytest.mark.wide
def test_a_rule_that_was_led_elsewhere_keeps_the_focus(page_: Page) -> None:
    edge(page_, "all", "ship").focus()
    page_.keyboard.press("l")
    expect(page_.get_by_role("dialog", name="Lead")).to_be_visible()
    page_.keyboard.type("Completed")
    page_.keyboard.press("Enter")
    expect(page_.get_by_role("dialog")).to_have_count(0)
    expect(edge(page_, "all", "completed")).to_be_focused()
    page_.keyboard.press("Control+z")
    expect(edge(page_, "all", "ship")).to_be_focused()


def _differ(page_: Page, count: int, words: str) -> Any:
    return page_.evaluate(
        "([count, words]) => { const all = [...document.querySelectorAll('.ed-problems .ed-remedies button')];"
        " return all.length !== count || all[0].innerText !== words }",
        [count, words],
    )


@pytest.mark.wide
def test_a_fix_leaves_the_focus_in_the_list_of_problems(page_: Page) -> None:
    fixes = page_.locator(".ed-problems .ed-remedies button")
    expect(fixes.first).to_be_visible()
    while fixes.count():
        count, words = fixes.count(), fixes.first.inner_text()
        fixes.first.focus()
        page_.keyboard.press("Enter")
        until(partial(_differ, page_, count, words), "the list of problems to change", page_)
        expect(page_.locator(".ed-problems :focus")).to_have_count(1)


@pytest.mark.wide
def test_all_problems_are_fixed_as_one_change_and_undone_as_one(world: World, enter_canvas: Enter) -> None:
    stations: list[Any] = [
        station("build", ALL, LATE),
        station(
            "ship", {"id": "on", "to": "sent"}, {"id": "never", "when": {"result": "failure"}, "to": "failed"}
        ),
        station("sent", kind="manual"),
    ]
    line = create_line(world.project, "drawn", "Drawn", document(stations, key="drawn"), world.admin)
    page = enter_canvas(line)
    count = page.locator(".ed-problems .badge")
    fix = page.get_by_role("button", name="Fix all 4", exact=True)
    fix.focus()
    page.keyboard.press("Enter")
    expect(count).to_have_text("0")
    saved(page)
    line.refresh_from_db()
    assert line.draft["stations"] != stations
    expect(page.locator(".ed-problems :focus, .ed-canvas :focus")).to_have_count(1)
    page.keyboard.press("Control+z")
    expect(count).to_have_text("4")
    saved(page)
    line.refresh_from_db()
    assert line.draft["stations"] == stations


@pytest.mark.wide
def test_a_new_command_lacks_its_program_until_it_is_typed(page_: Page, line: Line) -> None:
    add_station(page_, "command")
    problem = page_.get_by_role("button", name="Command · “Program and arguments” is missing")
    problem.click()
    program = page_.locator(".ed-inspector").get_by_label("Program and arguments", exact=True)
    expect(program).to_be_focused()
    page_.keyboard.type("ruff check")
    page_.keyboard.press("Control+Enter")
    expect(problem).to_have_count(0)
    saved(page_)
    line.refresh_from_db()
    assert line.draft["stations"][-1]["work"] == {"kind": "command", "argv": ["ruff", "check"]}


@pytest.mark.wide
def test_a_fix_in_the_rules_leaves_the_focus_beside_its_rule(page_: Page) -> None:
    node(page_, "build").click()
    page_.get_by_role("tab", name="Rules").click()
    fix = page_.locator(".ed-inspector .ed-rule .ed-remedies button").first
    fix.focus()
    page_.keyboard.press("Enter")
    saved(page_)
    expect(page_.locator(".ed-inspector :focus")).to_have_count(1)


@pytest.mark.wide
def test_undoing_to_an_empty_line_leads_to_what_begins_it(world: World, enter_canvas: Enter) -> None:
    line = create_line(world.project, "drawn", "Drawn", document([], key="drawn"), world.admin)
    page = enter_canvas(line)
    begin = page.get_by_role("button", name="Add a first station")
    begin.press("Enter")
    expect(page.locator("#ed-name")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".react-flow__node-station")).to_be_focused()
    page.keyboard.press("Control+z")
    expect(begin).to_be_focused()
    page.keyboard.press("Control+Shift+z")
    expect(page.locator(".ed-station")).to_have_count(1)
    until(
        lambda: page.evaluate("document.activeElement !== document.body"), "the focus to be somewhere", page
    )


@pytest.mark.wide
def test_a_tool_that_can_do_no_more_hands_the_focus_on(page_: Page) -> None:
    node(page_, "build").focus()
    page_.keyboard.press("Control+d")
    expect(page_.locator(".ed-station")).to_have_count(3)
    undo = page_.get_by_role("button", name="Undo", exact=True)
    undo.focus()
    page_.keyboard.press("Enter")
    expect(undo).to_be_disabled()
    expect(page_.get_by_role("button", name="Redo", exact=True)).to_be_focused()


@pytest.mark.wide
def test_enter_opens_the_item_that_J_selected(
    page: Page, world: World, sign_in: Callable[[Page, User], None]
) -> None:
    task = question(world)
    sign_in(page, world.admin)
    page.goto(reverse("needs-me"))
    page.keyboard.press("j")
    # Its only row is open: what is open is next.
    expect(page.locator(".need[data-item]")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/tasks/{task.name}/")


def test_undo_in_the_name_of_a_fresh_station_takes_the_station_back(page_: Page, line: Line) -> None:
    page_.locator("#ed-search").fill("manual")
    page_.keyboard.press("Enter")
    expect(page_.locator("#ed-name")).to_be_focused()
    page_.keyboard.press("Control+z")
    expect(page_.locator(".ed-station")).to_have_count(2)
    page_.keyboard.press("Control+Shift+z")
    expect(page_.locator(".ed-station")).to_have_count(3)


@pytest.mark.wide
def test_a_fresh_station_that_was_left_at_once_takes_no_focus_later(page_: Page, line: Line) -> None:
    # In one turn of the page, as a busy browser reads keys that were pressed while it drew.
    page_.locator("#ed-search").fill("manual")
    page_.evaluate("""() => {
        const enter = { key: "Enter", bubbles: true, cancelable: true };
        document.querySelector("#ed-search").dispatchEvent(new KeyboardEvent("keydown", enter));
        document.querySelector('.react-flow__node[data-id="build"]').focus({ focusVisible: true });
    }""")
    expect(page_.locator("#ed-name")).to_have_value("build")
    expect(page_.locator(".ed-station")).to_have_count(3)
    others = ':not([data-id="build"]):not([data-id="ship"])'
    fresh = page_.locator(f".react-flow__node:has(.ed-station){others}")
    fresh.focus()
    expect(page_.locator("#ed-name")).not_to_have_value("build")
    page_.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(fresh).to_be_focused()


@pytest.mark.wide
def test_undo_with_nothing_left_to_undo_changes_no_field(page_: Page, line: Line) -> None:
    """The browser has an undo of its own, of what was typed last, wherever the focus is."""
    page_.locator('.react-flow__node[data-id="build"]').focus()
    page_.locator("#ed-name").fill("Another name")
    page_.keyboard.press("Enter")
    expect(page_.locator(".react-flow__node").filter(has_text="Another name")).to_have_count(1)
    page_.locator(".ed-canvas").focus()
    for _ in range(6):
        page_.keyboard.press("Control+z")
    undo = page_.get_by_role("button", name="Undo", exact=True)
    expect(undo).to_be_disabled()
    page_.locator(".ed-canvas").focus()
    page_.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(page_.locator("#ed-name")).to_have_value("build")
    expect(undo).to_be_disabled()
