"""axe finds nothing serious or critical in any state of the editor, light and dark. A new state is a line in STATES."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.lines import publishing
from pipelines.models import Line, User
from tests import axe
from tests.factories import World, document, station
from tests.fixtures.browser import DESKTOP, PHONE
from tests.pages.conftest import at

DOCUMENT: dict[str, Any] = {
    "gateline": 1,
    "key": "drawn",
    "name": "Drawn",
    "inputs": [{"key": "what", "type": "text", "label": "What"}],
    "stations": [
        {
            "key": "build",
            "name": "Build",
            "work": {"kind": "command", "argv": ["true"]},
            "rules": [
                {"id": "any", "label": "Any", "to": "check"},
                {"id": "broken", "label": "Broken", "when": {"result": "failure"}, "to": "failed"},
                {"id": "asks", "label": "Asks", "when": {"verdict": "blocked"}, "to": "@blocked"},
            ],
        },
        {
            "key": "check",
            "name": "Check",
            "gate": "look",
            "work": {"kind": "manual", "instructions": "Look."},
            "rules": [
                {"id": "again", "label": "Again", "when": {"result": "failure"}, "to": "build"},
                {"id": "good", "label": "Good", "to": ["left", "right"], "gates": ["look", "second"]},
            ],
        },
        {"key": "left", "name": "Left", "work": {"kind": "noop"}},
        {"key": "right", "name": "Right", "work": {"kind": "noop"}, "join": {"wait_for": ["left"]}},
    ],
    "gates": [{"key": "look", "name": "A look"}, {"key": "second", "mode": "auto"}],
    "ends": [{"key": "sent", "kind": "completed", "label": "SENT"}],
    "guarantees": [
        {"id": "looked", "never": {"reach": "left", "without": "look"}},
        {"id": "short", "ends_within": 2},
    ],
    "extra": {"editor": {"notes": [{"id": "n1", "text": "Mind this.", "at": [0, 300]}]}},
}

Open = Callable[[Page], None]


def node(page: Page, key: str) -> None:
    page.locator(f'.react-flow__node[data-id="{key}"]').focus()


def keys(*pressed: str) -> Open:
    def press(page: Page) -> None:
        for key in pressed:
            page.keyboard.press(key)

    return press


def chosen(key: str, *pressed: str) -> Open:
    def choose(page: Page) -> None:
        node(page, key)
        keys(*pressed)(page)

    return choose


def named(role: Any, name: str) -> Open:
    return lambda page: page.get_by_role(role, name=name).first.click()


def tab(key: str, name: str) -> Open:
    def show(page: Page) -> None:
        node(page, key)
        page.get_by_role("tab", name=name).click()

    return show


def rename(page: Page, name: str) -> None:
    page.locator("#ed-name").fill(name)
    page.keyboard.press("Enter")


def new_target(page: Page) -> None:
    chosen("build", "l")(page)
    page.keyboard.type("Deploy")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Add and connect")).to_be_visible()


def written(page: Page) -> None:
    page.keyboard.press("Shift+C")
    expect(page.locator(".cm-content")).to_be_visible()


def commented(page: Page) -> None:
    tab("build", "Comments")(page)
    threads = page.get_by_role("tabpanel").get_by_role("article")
    if threads.count() == 0:
        page.get_by_label("Comment on Build").fill("Why **twice**?")
        page.keyboard.press("Control+Enter")
    expect(threads.first).to_be_visible()


def searched(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.type("go")
    expect(page.get_by_role("option", name="Go to Build Station")).to_be_visible()


EVERYTHING, INSPECTOR, DIALOG, MENU = "", ".ed-inspector", "dialog[open]", ".menu"
# What brings a page that was just opened into the state, and which part of the page is another then than before.
STATES: dict[str, tuple[str, Open]] = {
    "the line itself": (EVERYTHING, keys()),
    "a station chosen": (".ed", chosen("build")),
    "a station's settings": (INSPECTOR, tab("build", "Configure")),
    "a rule chosen": (".ed", chosen("build", "ArrowDown")),
    "a dead rule open": (INSPECTOR, chosen("build", "ArrowDown", "ArrowDown", "Enter")),
    "an end chosen": (INSPECTOR, chosen("failed")),
    "everything chosen": (".ed", chosen("build", "Control+a")),
    "the line's gates": (INSPECTOR, keys("g")),
    "the line's inputs": (INSPECTOR, keys("i")),
    "a new gate": (INSPECTOR, keys("Shift+G")),
    "comments": (INSPECTOR, commented),
    "tests of a station": (INSPECTOR, tab("build", "Scenarios")),
    "a test begun": (".ed", keys("Shift+T")),
    "the text beside the canvas": (".ed-stage", written),
    "problems folded": (".ed-drawer", named("button", "Problems")),
    "palette and settings folded": (".ed-middle", keys("Shift+Alt+P", "Shift+Alt+I")),
    "the shortcut sheet": (DIALOG, keys("?")),
    "the command palette": (DIALOG, searched),
    "the menu of a station": (MENU, chosen("build", "Shift+F10")),
    "the menu of a rule": (MENU, chosen("build", "ArrowDown", "Shift+F10")),
    "more actions": (MENU, named("button", "More actions")),
    "connecting": (DIALOG, chosen("build", "l")),
    "connecting to several": (DIALOG, chosen("build", "l", "Shift+Enter", "ArrowDown", "Shift+Enter")),
    "connecting to a new station": (DIALOG, new_target),
}
PHONE_STATES: dict[str, tuple[str, Open]] = {
    "the outline": (EVERYTHING, keys()),
    "a station's rules": (".ed", named("button", "Build")),
    "the line's settings": (".ed", named("button", "Settings of the line")),
    "a test begun": (".ed", named("button", "Simulate")),
    "adding": (DIALOG, named("button", "Add a station or end")),
}


@pytest.fixture
def line(world: World) -> Line:
    return publishing.create_line(world.project, "drawn", "Drawn", DOCUMENT, world.admin)


@pytest.fixture
def opened(
    new_context: Callable[..., BrowserContext], world: World, sign_in: Callable[[Page, User], None]
) -> Callable[..., Page]:
    def open_page(size: dict[str, int], person: User | None = None) -> Page:
        somebody = person or world.admin
        page = new_context(viewport=size, reduced_motion="reduce").new_page()
        sign_in(page, somebody)
        return page

    return open_page


def grave(page: Page, part: str = EVERYTHING) -> list[str]:
    """In the dark only what a colour can change is looked at again, when it has changed."""
    found = []
    for scheme, rules in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):
        page.emulate_media(color_scheme=scheme)
        axe.settle(page)
        found += axe.grave(page, part or None, **rules)
    return found


def faults(page: Page, address: str, states: dict[str, tuple[str, Open]]) -> dict[str, list[str]]:
    """What axe finds in each state, every time from the page as it opens."""
    found = {}
    for name, (part, bring) in states.items():
        page.goto(address)
        page.evaluate("localStorage.clear()")
        expect(page.locator(".ed-canvas .react-flow__node").first).to_be_visible()
        bring(page)
        if part:
            expect(page.locator(part).locator("visible=true").first).to_be_visible()
        if said := grave(page, part):
            found[name] = said
    return found


@pytest.mark.wide
def test_axe_finds_nothing_grave_in_any_state_of_the_editor(
    opened: Callable[..., Page], world: World, line: Line
) -> None:
    address = at(world, "line-draw", "drawn")
    assert faults(opened(DESKTOP), address, STATES) == {}
    assert faults(opened(PHONE), address, PHONE_STATES) == {}


@pytest.mark.wide
def test_axe_finds_nothing_grave_where_there_is_nothing_or_nothing_may_be_changed(
    opened: Callable[..., Page], world: World, line: Line
) -> None:
    empty = {"gateline": 1, "key": "empty", "stations": []}
    publishing.create_line(world.project, "empty", "Empty", empty, world.admin)
    page = opened(DESKTOP)
    page.goto(at(world, "line-draw", "empty"))
    expect(page.get_by_role("heading", name="An empty line")).to_be_visible()
    assert grave(page) == []
    looking = {"only looking": (EVERYTHING, chosen("build"))}
    assert faults(opened(DESKTOP, world.viewer), at(world, "line-draw", "drawn"), looking) == {}


@pytest.mark.wide
def test_axe_finds_nothing_grave_where_two_drew_the_same(
    opened: Callable[..., Page], world: World, line: Line
) -> None:
    page = opened(DESKTOP)
    page.goto(at(world, "line-draw", "drawn"))
    node(page, "build")
    page.context.set_offline(True)
    rename(page, "Mine")
    theirs = copy.deepcopy(line.draft)
    theirs["stations"][0]["name"] = "Theirs"
    publishing.save_draft(line, theirs, world.designer, line.draft_number)
    page.context.set_offline(False)
    clash = page.get_by_role("region", name="Changed by two people")
    expect(clash.get_by_role("radio", name="Theirs")).to_be_visible()
    assert grave(page, ".ed-middle") == []


@pytest.mark.wide
def test_axe_finds_nothing_grave_on_what_is_about_to_be_published_and_what_was(
    opened: Callable[..., Page], world: World
) -> None:
    first = [station("build", {"id": "on", "to": "ship"}), station("ship")]
    live = world.line(document(first, key="released")).line
    later: Any = [
        station("build", {"id": "on", "to": ["check", "ship"]}, {"id": "late", "to": "failed"}),
        station("check", {"id": "back", "to": "build"}),
        station("ship"),
    ]
    publishing.save_draft(live, document(later, key="released"), world.designer, live.draft_number)
    page = opened(DESKTOP)
    page.goto(at(world, "line-publish", "released"))
    expect(page.locator(".line-diff .ed-station").first).to_be_visible()
    expect(page.get_by_role("list", name="Errors")).to_be_visible()
    assert grave(page) == []
    page.goto(at(world, "line-versions", "released"))
    expect(page.locator('.line-diff .ed-station[data-mark="added"]')).to_be_visible()
    assert grave(page) == []
