"""From a project without lines to a task that ran: drawn, repaired, tested, published, by mouse and by keys alone."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from pipelines.models import Line, Task, User
from tests.browser.canvas import drag, middle, node, saved, settled
from tests.browser.looking import tick_unopened
from tests.factories import World
from tests.fixtures.site import Site, environment, manage, stop
from tests.pages.conftest import at

BUILD, TEST, REVIEW, PACKAGE, DELIVER = "build", "test", "review", "package", "deliver"
STATIONS = ("Intake", "Build", "Test", "Review", "Package", "Deliver")


@pytest.fixture
def hands(world: World, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = manage("worker", log=tmp_path / "worker.log", env=environment())
    yield process
    stop(process)


@pytest.fixture
def reviewer(world: World) -> User:
    [other] = world.reviewers(1)
    return other


Enter = Callable[[User], Page]


@pytest.fixture
def enter(
    new_context: Callable[..., BrowserContext],
    site: Site,
    world: World,
    sign_in: Callable[[Page, User], None],
) -> Enter:
    """A browser of this person's own."""

    def entered(user: User) -> Page:
        page = new_context(base_url=site.url).new_page()
        sign_in(page, user)
        return page

    return entered


def rules(page: Page) -> Locator:
    return page.locator(".ed-inspector .ed-rule[data-rule]")


def is_as_it_was_meant(line: Line) -> None:
    line.refresh_from_db()
    document = line.draft
    assert tuple(station["name"] for station in document["stations"]) == STATIONS
    keys = [station["key"] for station in document["stations"]]
    back, on = document["stations"][2]["rules"]
    assert (back["when"], back["to"], back["max_retries"]) == ({"result": "failure"}, keys[1], 3)
    assert on["to"] == keys[3]
    gated = [station["rules"][0].get("gates") for station in document["stations"][3:5]]
    assert gated == [[gate["key"]] for gate in document["gates"]]


Press = Callable[[Locator], None]


def by_mouse(found: Locator) -> None:
    found.click()


def by_keys(found: Locator) -> None:
    reach(found)
    found.page.keyboard.press("Enter")


# The key that leads from what has the focus to the element.
WAY = """element => element === document.activeElement ? '' :
  document.activeElement.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_PRECEDING
  ? 'Shift+Tab' : 'Tab'"""


def reach(found: Locator) -> None:
    """By Tab from where the focus is, however often it takes, and back where it stands before."""
    expect(found).to_be_visible()
    for _ in range(150):
        way = found.evaluate(WAY)
        if not way:
            return
        found.page.keyboard.press(way)
    expect(found).to_be_focused()


def write(found: Locator, text: str) -> None:
    reach(found)
    found.page.keyboard.press("Control+a")
    found.page.keyboard.type(text)


def runs(world: World, page: Page, other: Page, line: Line, press: Press) -> None:
    """Somebody starts it and does the work by hand, the worker the rest, and somebody else approves twice."""
    page.goto(at(world, "task-new", line.key))
    write(page.get_by_label("Title"), "The first one")
    press(page.get_by_role("button", name="Start the task"))
    press(page.get_by_role("link", name="Complete").first)
    press(page.get_by_role("button", name="Complete"))
    task = Task.objects.get()
    for _ in range(2):
        other.goto(at(world, "task", task.name))
        expect(other.locator(".task-head [data-status]")).to_have_attribute("data-status", "awaiting_review")
        # A station is called so, too
        press(other.locator("a.button", has_text=re.compile(r"^\s*Review\s*$")))
        press(other.get_by_role("button", name=re.compile("Approve")))
        tick_unopened(other)
        with other.expect_response(lambda answer: answer.request.method == "POST"):
            press(other.get_by_role("button", name="Confirm approval"))
    page.goto(at(world, "task", task.name))
    expect(page.locator(".task-head [data-status]")).to_have_attribute("data-status", "completed")


@pytest.mark.wide
def test_by_keys_alone(enter: Enter, world: World, reviewer: User, hands: subprocess.Popen[bytes]) -> None:
    page = enter(world.admin)
    keys = page.keyboard
    page.goto(at(world, "lines"))
    by_keys(page.get_by_role("link", name="New line").first)
    write(page.get_by_label("Name", exact=True), "Our first line")
    keys.press("Enter")
    by_keys(page.get_by_role("button", name="Add a first station"))
    for number, name in enumerate(STATIONS, 1):
        expect(page.locator(".ed-station")).to_have_count(number)
        if number > 1:
            keys.press("Escape")
        keys.press("F2")
        expect(page.locator("#ed-name")).to_be_focused()
        keys.press("Control+a")
        keys.type(name)
        keys.press("Enter")
        expect(page.locator(".react-flow__node:focus")).to_contain_text(name)
        if number < len(STATIONS):
            keys.press("Tab")
            expect(page.locator("#ed-search")).to_be_focused()
            keys.press("Control+a")
            keys.type("no-op")
            keys.press("Enter")
    line = Line.objects.get()

    # Back from Test to Build: drawn last, so never reached; with its condition it can be moved up.
    for key in ("Home", "ArrowRight", "ArrowRight", "l"):
        keys.press(key)
    keys.type("Build")
    keys.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    keys.press("Enter")
    tabs = page.locator(".ed-inspector").get_by_role("tab")
    expect(tabs.and_(page.locator(":focus"))).to_have_count(1)
    keys.press("Home")
    keys.press("ArrowRight")
    expect(rules(page)).to_have_count(2)
    expect(rules(page).nth(1)).to_contain_text("Never matches: rule 1 already takes everything.")
    inspector = page.locator(".ed-inspector")
    by_keys(rules(page).nth(1).locator(".ed-rule-head"))
    reach(inspector.get_by_label("Condition", exact=True))
    keys.type("Result")
    reach(inspector.get_by_label("failure", exact=True))
    keys.press("Space")
    keys.press("Shift+Tab")
    expect(inspector.get_by_label("success", exact=True)).to_be_focused()
    keys.press("Space")
    expect(rules(page).nth(1)).to_contain_text("For example {result: failure}")
    by_keys(inspector.get_by_role("button", name="Move above 1, at most 3 times"))
    expect(rules(page).first).to_contain_text("result is failure")

    for steps in (3, 4):
        keys.press("Escape")
        for key in ("Home", *["PageDown"] * steps, "ArrowDown", "Tab"):
            keys.press(key)
        expect(page.locator("#ed-search")).to_be_focused()
        keys.press("Control+a")
        keys.type("person")
        keys.press("Enter")
        expect(inspector).to_contain_text("Who decides")
    saved(page)
    is_as_it_was_meant(line)

    keys.press("Escape")
    keys.press("Shift+T")
    tried(page, by_keys)
    keys.press("Escape")
    keys.press("Shift+P")
    publish = page.locator("#publish-go").get_by_role("button", name="Publish")
    expect(publish).to_be_enabled()
    by_keys(publish)
    expect(page).to_have_url(re.compile(re.escape(at(world, "line", line.key)) + "$"))
    runs(world, page, enter(reviewer), line, by_keys)


def tried(page: Page, press: Press) -> None:
    """To its end: the tests fail once, and both gates are passed; and kept as a test of the line."""
    panel = page.locator(".ed-test")
    standing = panel.get_by_role("region", name="Current position")
    words = "Success Success Failure Success Success Success Approve Success Approve Success"
    for choice in words.split():
        press(standing.get_by_role("button", name=choice).first)
        expect(panel).to_have_attribute("aria-busy", "false")
    expect(panel).to_contain_text("It ended: Completed")
    write(panel.get_by_label("Name"), "Built twice")
    press(panel.get_by_role("button", name="Save", exact=True))
    expect(page.get_by_role("heading", name="Built twice")).to_be_visible()


@pytest.mark.wide
def test_by_mouse(enter: Enter, world: World, reviewer: User, hands: subprocess.Popen[bytes]) -> None:
    page = enter(world.admin)
    page.goto(at(world, "lines"))
    page.get_by_role("link", name="New line").first.click()
    page.get_by_label("Name", exact=True).fill("Our first line")
    page.get_by_role("button", name="Draw a line").click()
    page.get_by_role("button", name="Add a first station").click()
    palette, inspector = page.locator(".ed-palette"), page.locator(".ed-inspector")
    for number, name in enumerate(STATIONS, 1):
        expect(page.locator(".ed-station")).to_have_count(number)
        page.locator("#ed-name").fill(name)
        page.locator("#ed-name").press("Enter")
        if number < len(STATIONS):
            palette.get_by_role("button", name="No-op").click()
    line = Line.objects.get()
    page.keyboard.press("Escape")
    settled(page)
    page.get_by_role("button", name="Fit").click()
    # Back from Test to Build: drawn last, so never reached; with its condition it can be moved up.
    node(page, TEST).click()
    drag(page, middle(node(page, TEST).locator('[data-port="@new"]')), middle(node(page, BUILD)))
    expect(rules(page)).to_have_count(2)
    expect(rules(page).nth(1)).to_contain_text("Never matches: rule 1 already takes everything.")
    rules(page).nth(1).locator(".ed-rule-head").click()
    inspector.get_by_label("Condition", exact=True).select_option("result")
    inspector.get_by_label("failure", exact=True).check()
    inspector.get_by_label("success", exact=True).uncheck()
    expect(rules(page).nth(1)).to_contain_text("For example {result: failure}")
    expect(page.locator(".ed-problems")).to_contain_text("already takes everything")
    inspector.get_by_role("button", name="Move above 1, at most 3 times").click()
    expect(rules(page).first).to_contain_text("result is failure")
    expect(rules(page).first).to_contain_text("Live")

    for one, next_ in ((REVIEW, PACKAGE), (PACKAGE, DELIVER)):
        settled(page)
        start = middle(palette.get_by_role("button", name="Person", exact=True))
        (left, y), (right, _) = middle(node(page, one)), middle(node(page, next_))
        drag(page, start, ((left + right) / 2 + 3, y))
        expect(inspector).to_contain_text("Who decides")
    saved(page)
    is_as_it_was_meant(line)

    page.get_by_role("button", name="Simulate", exact=True).click()
    tried(page, by_mouse)
    page.keyboard.press("Escape")

    page.locator("#editor-bar").get_by_role("button", name="Publish").click()
    publish = page.locator("#publish-go").get_by_role("button", name="Publish")
    expect(publish).to_be_enabled()
    publish.click()
    expect(page).to_have_url(re.compile(re.escape(at(world, "line", line.key)) + "$"))
    runs(world, page, enter(reviewer), line, by_mouse)
