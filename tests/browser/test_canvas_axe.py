"""axe finds nothing serious or critical in any state of the editor, light and dark. A new state is a line in STATES."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect

from pipelines import publishing
from pipelines.models import Line, User
from tests.factories import World
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


def searched(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.type("go")
    expect(page.get_by_role("option", name="Go to Build Station")).to_be_visible()


# What brings a page that was just opened into the state.
STATES: dict[str, Open] = {
    "the line itself": keys(),
    "a station chosen": chosen("build"),
    "a station's settings": tab("build", "Configure"),
    "a rule chosen": chosen("build", "ArrowDown"),
    "a dead rule open": chosen("build", "ArrowDown", "ArrowDown", "Enter"),
    "an end chosen": chosen("failed"),
    "everything chosen": chosen("build", "Control+a"),
    "the line's gates": keys("g"),
    "the line's inputs": keys("i"),
    "a new gate": keys("Shift+G"),
    "comments": tab("build", "Comments"),
    "tests of a station": tab("build", "Tests"),
    "a test begun": keys("Shift+T"),
    "the text beside the canvas": written,
    "problems folded": named("button", "Problems"),
    "palette and settings folded": keys("Shift+Alt+P", "Shift+Alt+I"),
    "the shortcut sheet": keys("?"),
    "the command palette": searched,
    "the menu of a station": chosen("build", "Shift+F10"),
    "the menu of a rule": chosen("build", "ArrowDown", "Shift+F10"),
    "more actions": named("button", "More actions"),
    "connecting": chosen("build", "l"),
    "connecting to several": chosen("build", "l", "Shift+Enter", "ArrowDown", "Shift+Enter"),
    "connecting to a new station": new_target,
}
PHONE_STATES: dict[str, Open] = {
    "the outline": keys(),
    "a station's rules": named("button", "Build"),
    "the line's settings": named("button", "Settings of the line"),
    "a test begun": named("button", "Test"),
    "adding": named("button", "Add a station or end"),
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
        somebody.set_password("a password")
        somebody.save(update_fields=["password"])
        page = new_context(viewport=size, reduced_motion="reduce").new_page()
        sign_in(page, somebody)
        return page

    return open_page


def grave(page: Page) -> list[str]:
    """In the dark only what a colour can change is looked at again."""
    page.emulate_media(color_scheme="light")
    found = Axe().run(page).response["violations"]
    page.emulate_media(color_scheme="dark")
    found += Axe().run(page, options={"runOnly": ["color-contrast"]}).response["violations"]
    return [
        f"{each['id']}: {node['html'][:200]}"
        for each in found
        if each["impact"] in {"serious", "critical"}
        for node in each["nodes"]
    ]


def faults(page: Page, address: str, states: dict[str, Open]) -> dict[str, list[str]]:
    """What axe finds in each state, every time from the page as it opens."""
    found = {}
    for name, bring in states.items():
        page.goto(address)
        page.evaluate("localStorage.clear()")
        expect(page.locator(".ed-canvas .react-flow__node").first).to_be_visible()
        bring(page)
        if said := grave(page):
            found[name] = said
    return found


def test_axe_finds_nothing_grave_in_any_state_of_the_editor(
    opened: Callable[..., Page], world: World, line: Line
) -> None:
    address = at(world, "line-draw", "drawn")
    assert faults(opened(DESKTOP), address, STATES) == {}
    assert faults(opened(PHONE), address, PHONE_STATES) == {}


def test_axe_finds_nothing_grave_where_there_is_nothing_or_nothing_may_be_changed(
    opened: Callable[..., Page], world: World, line: Line
) -> None:
    empty = {"gateline": 1, "key": "empty", "stations": []}
    publishing.create_line(world.project, "empty", "Empty", empty, world.admin)
    page = opened(DESKTOP)
    page.goto(at(world, "line-draw", "empty"))
    expect(page.get_by_role("heading", name="An empty line")).to_be_visible()
    assert grave(page) == []
    looking = {"only looking": chosen("build")}
    assert faults(opened(DESKTOP, world.viewer), at(world, "line-draw", "drawn"), looking) == {}
