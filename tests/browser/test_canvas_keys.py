"""The editor by keyboard alone: walking, changing, connecting, finding; its sides, and what it is below 900 px."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from pipelines.lines import publishing
from pipelines.models import Line, User
from tests.browser.canvas import draft, node, saved
from tests.factories import World
from tests.fixtures.browser import PHONE
from tests.fixtures.site import Site
from tests.pages.conftest import at

DOCUMENT: dict[str, Any] = {
    "gateline": 1,
    "key": "drawn",
    "name": "Drawn",
    "stations": [
        {
            "key": "build",
            "name": "Build",
            "work": {"kind": "noop"},
            "rules": [
                {"id": "built", "label": "Built", "when": {"result": "success"}, "to": "check"},
                {"id": "broken", "label": "Broken", "when": {"result": "failure"}, "to": "failed"},
            ],
        },
        {
            "key": "check",
            "name": "Check",
            "work": {"kind": "manual", "instructions": "Look."},
            "rules": [{"id": "good", "label": "Good", "to": "completed", "gates": ["look"]}],
        },
    ],
    "gates": [{"key": "look", "name": "A look"}],
}

Enter = Callable[..., Page]


@pytest.fixture
def line(world: World) -> Line:
    return publishing.create_line(world.project, "drawn", "Drawn", DOCUMENT, world.admin)


@pytest.fixture
def enter(page: Page, site: Site, world: World, line: Line, sign_in: Callable[[Page, User], None]) -> Enter:
    """The editor of the line, opened by this person."""

    def opened(user: User | None = None) -> Page:
        person = user or world.admin
        sign_in(page, person)
        page.goto(at(world, "line-draw", "drawn"))
        expect(page.get_by_role("application", name="Canvas of the line")).to_be_visible()
        return page

    return opened


def edge(page: Page, rule: str, target: str) -> Locator:
    return page.locator(f'.react-flow__edge[data-id="{rule}>{target}"]')


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


@pytest.mark.wide
def test_the_arrows_walk_the_edges_and_the_focus_is_never_lost(enter: Enter) -> None:
    page = enter()
    node(page, "build").focus()
    press(page, "ArrowRight")
    expect(node(page, "check")).to_be_focused()
    press(page, "ArrowLeft", "ArrowDown", "ArrowDown")
    expect(edge(page, "broken", "failed")).to_be_focused()
    press(page, "ArrowRight")
    expect(node(page, "failed")).to_be_focused()
    press(page, "Home")
    expect(node(page, "build")).to_be_focused()
    press(page, "ArrowDown", "Enter")
    expect(page.locator(".ed-inspector")).to_contain_text("Build")
    expect(page.locator(".ed-inspector :focus")).to_have_count(1)
    press(page, "Escape")
    expect(edge(page, "built", "check")).to_be_focused()
    press(page, "Tab")
    expect(page.locator("#ed-search")).to_be_focused()
    press(page, "F6")
    expect(edge(page, "built", "check")).to_be_focused()


@pytest.mark.wide
def test_an_empty_line_becomes_six_stations_by_keys_alone(enter: Enter, line: Line) -> None:
    publishing.save_draft(line, {"gateline": 1, "key": "drawn", "stations": []}, line.draft_by, 1)
    page = enter()
    page.get_by_role("button", name="Add a first station").press("Enter")
    expect(page.locator(".ed-station")).to_have_count(1)
    press(page, "Tab")
    for number in range(2, 6):
        page.locator("#ed-search").fill("no-op")
        press(page, "Enter")
        expect(page.locator(".ed-station")).to_have_count(number)
        expect(page.locator("#ed-name")).to_be_focused()
    press(page, "Escape", "Home", "l")
    dialog = page.get_by_role("dialog", name="Connect First station to")
    page.keyboard.type("Hand over")
    press(page, "Enter")
    dialog.get_by_label("Kind").select_option("manual")
    dialog.get_by_label("Name").press("Enter")
    expect(page.locator(".ed-station")).to_have_count(6)
    expect(page.locator("#ed-name")).to_be_focused()
    press(page, "Escape", "Home", "l")
    for name in ("No-op", "Hand over"):
        page.get_by_role("combobox", name="Search").fill(name)
        press(page, "Shift+Enter")
    expect(page.get_by_role("dialog")).to_contain_text("A fork to")
    press(page, "Enter")
    press(page, "Home", "ArrowUp", "Alt+ArrowUp")
    expect(page.locator("#announcer")).to_contain_text("to place 2")
    press(page, "Control+z")
    expect(page.locator("#announcer")).to_contain_text("Undone")
    saved(page)
    first, *others = draft(line)["stations"]
    assert [each["key"] for each in others] == ["no-op", "no-op-2", "no-op-3", "no-op-4", "hand-over"]
    assert [rule["to"] for rule in first["rules"]] == ["no-op", "hand-over", ["no-op-2", "hand-over"]]


@pytest.mark.wide
def test_the_palette_knows_every_action_and_goes_to_every_place_by_name(enter: Enter) -> None:
    page = enter()
    press(page, "Control+k")
    page.keyboard.type("a look")
    expect(page.get_by_role("option", name="Go to A look")).to_be_visible()
    press(page, "Enter")
    expect(edge(page, "good", "completed")).to_be_focused()
    press(page, "Control+k")
    page.keyboard.type("duplicate")
    press(page, "Enter")
    expect(page.locator(".ed-station")).to_have_count(3)
    press(page, "?")
    sheet = page.get_by_role("dialog", name="Help and shortcuts")
    expect(sheet.get_by_role("row", name="Duplicate")).to_contain_text("Ctrl+D")
    expect(sheet.get_by_role("row", name="Publish")).to_contain_text("Shift+P")


@pytest.mark.wide
def test_the_menu_of_a_station_opens_by_key_and_by_the_right_button(enter: Enter) -> None:
    page = enter()
    node(page, "check").focus()
    press(page, "Shift+F10")
    menu = page.get_by_role("menu", name="Actions for Check")
    expect(menu.get_by_role("menuitem").first).to_be_focused()
    press(page, "Escape")
    expect(node(page, "check")).to_be_focused()
    node(page, "build").click(button="right")
    page.get_by_role("menu", name="Actions for Build").get_by_role("menuitem", name="Duplicate").click()
    expect(page.locator(".ed-station")).to_have_count(3)


@pytest.mark.wide
def test_single_letters_are_silent_for_who_switched_them_off(enter: Enter, world: World) -> None:
    world.admin.letter_shortcuts = False
    world.admin.save(update_fields=["letter_shortcuts"])
    page = enter()
    node(page, "build").focus()
    press(page, "l")
    expect(page.get_by_role("dialog")).to_have_count(0)
    press(page, "Shift+F10")
    page.get_by_role("menuitem", name="Connect to").press("Enter")
    expect(page.get_by_role("dialog", name="Connect Build to")).to_be_visible()


@pytest.mark.wide
def test_publish_waits_for_a_difference_and_a_place_on_the_canvas_is_none(enter: Enter, line: Line) -> None:
    publishing.publish_draft(line, user=line.draft_by, name="", based_on=1)
    page = enter()
    publish = page.locator("#editor-bar").get_by_role("button", name="Publish")
    expect(publish).to_be_disabled()
    node(page, "build").focus()
    press(page, "Alt+ArrowDown", "Alt+ArrowDown")
    saved(page)
    assert draft(line)["extra"]["editor"]["positions"].keys() == {"build"}
    expect(publish).to_be_disabled()
    press(page, "Shift+P")
    expect(page.locator("#announcer")).to_contain_text("Nothing to publish")
    press(page, "Control+d")
    expect(publish).to_be_enabled()


@pytest.mark.wide
def test_the_sides_keep_the_size_and_the_fold_that_a_person_gave_them(enter: Enter) -> None:
    page = enter()
    inspector = page.locator(".ed-inspector")
    before = inspector.bounding_box()
    # The palette begins as icons, which leave the canvas a thousand pixels.
    canvas = page.locator(".ed-canvas").bounding_box()
    assert canvas and canvas["width"] >= 1000
    page.get_by_role("separator", name="Width of the settings").focus()
    press(page, "ArrowLeft", "ArrowLeft")
    page.get_by_role("button", name="Show the palette").click()
    page.reload()
    expect(page.get_by_role("button", name="Hide the palette")).to_be_visible()
    after = inspector.bounding_box()
    assert before and after and after["width"] == before["width"] + 32


@pytest.mark.wide
def test_who_may_only_look_is_told_why_and_no_key_changes_anything(
    enter: Enter, world: World, line: Line
) -> None:
    page = enter(world.viewer)
    expect(page.get_by_role("note")).to_contain_text("needs the role Designer")
    node(page, "build").focus()
    press(page, "Delete", "Control+d", "Alt+ArrowDown", "l", "F2")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(".ed-station")).to_have_count(2)
    assert draft(line) == DOCUMENT


@pytest.mark.wide
def test_a_fault_of_the_drawing_shows_the_way_to_the_code(
    page: Page, world: World, line: Line, sign_in: Callable[[Page, User], None]
) -> None:
    def faulty(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace('"findings": [', '"findings": 3, "was": ['))

    page.route("**/draw/", faulty)
    sign_in(page, world.admin)
    page.goto(at(world, "line-draw", line.key))
    expect(page.get_by_role("alert")).to_contain_text("Nothing is lost")
    page.get_by_role("link", name="Open the code").click()
    expect(page.get_by_text("gateline: 1").first).to_be_attached()


@pytest.fixture
def phone(new_context: Callable[..., Any]) -> Page:
    return new_context(viewport=PHONE, has_touch=True).new_page()


@pytest.mark.wide
def test_on_a_phone_the_line_is_a_list_with_the_same_forms(
    phone: Page, world: World, line: Line, sign_in: Callable[[Page, User], None]
) -> None:
    sign_in(phone, world.admin)
    phone.goto(at(world, "line-draw", "drawn"))
    rows = phone.locator(".ed-outline-station")
    expect(rows).to_have_count(2)
    rows.first.locator(".ed-outline-rule").nth(1).tap()
    expect(phone.get_by_role("complementary", name="Settings of Build")).to_be_visible()
    phone.get_by_role("button", name="Back to the line").tap()
    phone.get_by_role("button", name="Add a station or end").tap()
    phone.get_by_role("button", name="No-op", exact=True).tap()
    phone.get_by_role("button", name="Back to the line").tap()
    expect(rows).to_have_count(3)
    small = phone.evaluate(
        "() => [...document.querySelectorAll('.ed-outline > :not(.ed-canvas) button, .segment, #editor-bar button')]"
        ".filter((each) => each.getClientRects().length && each.getBoundingClientRect().height < 44)"
        ".map((each) => each.outerHTML)"
    )
    assert small == []
    assert phone.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    box = phone.get_by_role("button", name="More actions").bounding_box()
    assert box and box["x"] + box["width"] <= PHONE["width"]
    saved(phone)
    assert [station["key"] for station in draft(line)["stations"]] == ["build", "no-op", "check"]


@pytest.mark.wide
def test_on_a_phone_the_head_of_a_lines_pages_takes_96_px(
    phone: Page, world: World, line: Line, sign_in: Callable[[Page, User], None]
) -> None:
    sign_in(phone, world.admin)
    for page in (
        "line",
        "line-draw",
        "line-live",
        "line-tasks",
        "line-tests",
        "line-versions",
        "line-insights",
    ):
        phone.goto(at(world, page, "drawn"))
        top = phone.evaluate("document.querySelector('main').getBoundingClientRect().top")
        assert top <= 96, page
