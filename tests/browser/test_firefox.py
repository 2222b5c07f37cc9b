"""The editor of a line of the demo in Firefox, through what other tests do in Chromium; nothing in the console."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from pipelines.lines import publishing
from pipelines.models import Line, User
from tests.browser.canvas import draft, drag, middle, node, saved, settled
from tests.browser.looking import CARET
from tests.factories import World
from tests.fixtures.browser import OPEN
from tests.fixtures.site import ROOT
from tests.pages.conftest import at
from tests.waiting import until

KEY = "repository-check"
DOCUMENT = ROOT / "pipelines" / "lines" / "demo" / "lines" / f"{KEY}.yaml"


@pytest.fixture
def browser(request: pytest.FixtureRequest) -> Browser:
    """Firefox in place of Chromium."""
    found: Browser = request.config.stash[OPEN].get_firefox()
    return found


@pytest.fixture
def line(world: World) -> Line:
    """Published once, so that there is something to compare with."""
    made = publishing.create_line(world.project, KEY, "Repository check", DOCUMENT.read_text(), world.admin)
    publishing.publish_draft(made, user=world.admin, based_on=made.draft_number)
    return made


@pytest.fixture
def console() -> list[str]:
    """What the page complains of, beside what fails every browser test."""
    return []


@pytest.fixture
def editor(
    new_context: Callable[..., BrowserContext],
    sign_in: Callable[[BrowserContext, User], None],
    world: World,
    line: Line,
    console: list[str],
) -> Page:
    context = new_context()
    sign_in(context, world.admin)
    page = context.new_page()
    page.on("console", lambda said: console.append(said.text) if said.type in {"error", "warning"} else None)
    page.on("response", lambda answer: console.append(answer.url) if answer.status >= 400 else None)
    page.goto(at(world, "line-draw", KEY))
    expect(page.locator(".ed-station")).to_have_count(len(line.draft["stations"]))
    return page


def ways(document: dict[str, Any]) -> set[str]:
    """The rules that are drawn as an edge: all but those back to their own station, which are badges."""
    return {
        rule["id"]
        for station in document["stations"]
        for rule in station.get("rules", [])
        if rule["to"] != station["key"]
    }


def write(page: Page, field: str, text: str) -> None:
    """Key by key, as people do: Playwright's `fill` goes round what React hears in Firefox."""
    page.locator(field).click()
    page.keyboard.press("Control+a")
    page.keyboard.type(text)


def test_a_line_is_drawn_and_a_change_of_it_saved(editor: Page, line: Line, console: list[str]) -> None:
    _is_drawn(editor, draft(line))
    _is_renamed_undone_and_redone(editor, line)
    assert console == []


@pytest.mark.wide
def test_a_line_is_drawn_changed_saved_and_looked_at_before_publishing(
    editor: Page, world: World, line: Line, console: list[str], tmp_path: Path
) -> None:
    before = draft(line)
    _is_drawn(editor, before)
    _is_renamed_undone_and_redone(editor, line)
    _grows_by_mouse(editor, line)
    _is_walked_by_keyboard(editor)
    _gates_are_what_the_palette_shows(editor, line)
    _is_read_as_text(editor, line)
    editor.screenshot(path=tmp_path / "editor.png", caret=CARET)
    editor.goto(at(world, "line-publish", KEY))
    expect(editor.locator(".line-diff .ed-station")).to_have_count(len(before["stations"]) + 1)
    expect(editor.locator("#publish-go").get_by_role("button", name="Publish")).to_be_visible()
    editor.screenshot(path=tmp_path / "publish.png", caret=CARET)
    assert console == []


def _is_drawn(page: Page, document: dict[str, Any]) -> None:
    drawn = page.locator(".ed-way[data-rule]")
    expect(drawn.first).to_be_visible()
    shown = {each.get_attribute("data-rule") for each in drawn.all()}
    assert ways(document) <= shown


def _is_renamed_undone_and_redone(page: Page, line: Line) -> None:
    node(page, "lint").click()
    write(page, "#ed-name", "Lint it")
    page.keyboard.press("Enter")
    name = node(page, "lint").locator(".ed-name")
    expect(name).to_have_text("Lint it")
    saved(page)
    node(page, "lint").focus()
    page.keyboard.press("Control+z")
    expect(name).to_have_text("Lint")
    page.keyboard.press("Control+Shift+z")
    expect(name).to_have_text("Lint it")
    saved(page)
    assert draft(line)["stations"][0]["name"] == "Lint it"


def _grows_by_mouse(page: Page, line: Line) -> None:
    """A station from the palette, and a rule drawn from its port to another station."""
    stations = page.locator(".ed-station")
    count = stations.count()
    write(page, "#ed-search", "manual")
    page.keyboard.press("Enter")
    expect(stations).to_have_count(count + 1)
    node(page, "manual").click()
    saved(page)
    page.get_by_role("tab", name="Rules").click()
    rules = page.locator(".ed-inspector .ed-rule[data-rule]")

    settled(page)
    drag(page, middle(node(page, "manual").locator('[data-port="@new"]')), middle(node(page, "lint")))
    expect(rules).to_have_count(1)
    saved(page)
    [made] = [each for each in draft(line)["stations"] if each["key"] == "manual"]
    assert [rule["to"] for rule in made["rules"]] == ["lint"]


def _is_walked_by_keyboard(page: Page) -> None:
    """Tab comes through the palette to the canvas and beyond, and never to nothing."""
    page.locator("#ed-search").focus()
    seen = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.closest('[class*=ed-]')?.className ?? ''"))
        assert page.evaluate("document.activeElement !== document.body")
    assert len(seen) > 2
    node(page, "lint").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".react-flow__node:focus")).not_to_have_attribute("data-id", "lint")


def _gates_are_what_the_palette_shows(page: Page, line: Line) -> None:
    """Of the chosen station, and with nothing chosen where the list says."""
    gates = page.locator('.ed-gate[data-gate^="person"]')
    node(page, "lint").click()
    write(page, "#ed-search", "person")
    page.keyboard.press("Enter")
    expect(gates).to_have_count(1)
    page.locator(".ed-inspector-head").get_by_role("button", name="Close").click()
    page.locator("#ed-search").focus()
    page.keyboard.press("Enter")
    page.get_by_role("dialog", name="Where is Person asked?").get_by_role(
        "button", name="Tests →"
    ).first.click()
    expect(gates).to_have_count(2)
    write(page, "#ed-search", " ")
    page.keyboard.press("Backspace")
    saved(page)
    assert {"person", "person-2"} <= {gate["key"] for gate in draft(line)["gates"]}


def _is_read_as_text(page: Page, line: Line) -> None:
    before = line.draft_number
    page.get_by_role("button", name="Both", exact=True).click()
    text = page.locator(".cm-content")
    text.click()
    page.keyboard.press("Control+Home")
    expect(text).to_contain_text("gateline: 1")
    page.keyboard.type("# Seen in both\n")
    until(lambda: draft(line) and line.draft_number > before, "the text that was typed", page)
    saved(page)
