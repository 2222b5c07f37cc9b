"""The design pages in a real browser: looks that can be measured, accessibility, the policy, the keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.design.conftest import Shown

pytestmark = pytest.mark.browser
Show = Callable[..., Shown]

ERRORS = ("400", "403", "404", "409", "429", "500", "503", "offline", "expired")


def violations(page: Any) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{each['id']}: {node['html'][:160]}" for each in found for node in each["nodes"]]


@pytest.mark.smoke(1)
@pytest.mark.parametrize("width", [390, 1440])
def test_every_component_is_accessible_in_both_themes(show: Show, width: int) -> None:
    watched = show(width)
    assert violations(watched.open("/_design/")) == []
    assert watched.faults == []


@pytest.mark.smoke(1)
@pytest.mark.parametrize(
    ("width", "query"), [(1440, ""), (1440, "&rail=on&density=compact"), (390, "&theme=dark")]
)
def test_the_shell_is_accessible(show: Show, width: int, query: str) -> None:
    watched = show(width)
    assert violations(watched.open(f"/_design/?frame=shell{query}")) == []
    assert watched.faults == []


@pytest.mark.wide
@pytest.mark.smoke(1)
@pytest.mark.parametrize("path", ["/_design/", "/_design/?frame=shell", "/_design/?frame=shell&rail=on"])
def test_no_page_scrolls_sideways(show: Show, path: str) -> None:
    page = show().open(path)
    for width in (360, 600, 899, 900, 1200, 2560):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.wide
def test_every_error_page_has_a_way_on(show: Show) -> None:
    watched = show()
    for name in ERRORS:
        page = watched.open(f"/errors/{name}/")
        assert violations(page) == [], name
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert page.get_by_role("main").get_by_role("link").count() >= 1, name
    assert watched.faults == []


@pytest.mark.wide
@pytest.mark.smoke(1)
@pytest.mark.parametrize(("theme", "ground"), [("light", "rgb(249, 249, 251)"), ("dark", "rgb(17, 17, 19)")])
def test_a_theme_of_a_person_wins_over_the_system(show: Show, theme: str, ground: str) -> None:
    page = show(theme="light" if theme == "dark" else "dark").open(f"/_design/?frame=shell&theme={theme}")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == ground


@pytest.mark.wide
def test_rows_are_32_high_when_compact_and_44_for_fingers(show: Show) -> None:
    read = "getComputedStyle(document.documentElement).getPropertyValue('--row')"
    assert show().open("/_design/?frame=shell&density=comfortable").evaluate(read) == "2.5rem"
    assert show().open("/_design/?frame=shell&density=compact").evaluate(read) == "2rem"
    touch = show(390, has_touch=True, is_mobile=True).open("/_design/?frame=shell&density=compact")
    assert touch.evaluate(read) == "2.75rem"


@pytest.mark.wide
def test_what_a_finger_presses_on_the_shell_is_44_high(show: Show) -> None:
    page = show(390, has_touch=True, is_mobile=True).open("/_design/?frame=shell")
    small = page.evaluate(
        """() => [...document.querySelectorAll(".shell a[href], .shell button")].filter((each) => {
             const box = each.getBoundingClientRect();
             return box.height > 0 && box.height < 44 && !each.closest(".breadcrumb");
           }).map((each) => each.outerHTML.slice(0, 120))"""
    )
    assert small == []


def test_the_palette_opens_by_key_and_goes_where_enter_says(show: Show) -> None:
    page = show().open("/_design/?frame=shell")
    page.keyboard.press("Control+k")
    page.keyboard.type("rep")
    expect(page.get_by_role("option", name="Repository check")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/found/")


@pytest.mark.wide
def test_letters_open_the_sheet_unless_they_are_switched_off(show: Show) -> None:
    page = show().open("/_design/?frame=shell")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Help and shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Help and shortcuts")).to_be_hidden()
    page = show().open("/_design/?frame=shell&letters=off")
    page.keyboard.press("?")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Search or jump to")).to_be_visible()
    expect(page.get_by_role("dialog", name="Help and shortcuts")).to_be_hidden()


@pytest.mark.wide
def test_a_menu_is_walked_by_arrows_and_returns_the_focus(show: Show) -> None:
    page = show().open("/_design/?only=dialog")
    opener = page.get_by_role("button", name="Open menu").first
    opener.press("Enter")
    expect(opener).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Home")
    expect(page.get_by_role("menuitem", name="Retry")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("menuitem", name="Pause")).to_be_focused()
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    expect(opener).to_have_attribute("aria-expanded", "false")


def test_a_dialog_keeps_the_focus_and_escape_closes_it(show: Show) -> None:
    page = show().open("/_design/?only=dialog")
    page.get_by_role("button", name="Open dialog").first.click()
    dialog = page.get_by_role("dialog", name="Cancel WI-app-42?")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("button", name="Open dialog").first).to_be_focused()


@pytest.mark.wide
def test_the_rail_is_remembered_by_the_server(show: Show) -> None:
    watched = show()
    page = watched.open("/_design/?frame=shell")
    page.get_by_role("button", name="Collapse").click()
    assert watched.open("/_design/?frame=shell").locator("[data-shell]").get_attribute("data-rail") == "on"
    assert page.locator(".sidebar").bounding_box()["width"] == 64


@pytest.mark.wide
def test_the_count_of_what_needs_me_is_fetched(show: Show) -> None:
    page = show().open("/_design/?frame=shell")
    expect(page.locator("#needs-count")).to_have_text("7")
    expect(page.locator("#needs-count-phone")).to_have_text("7")


def test_a_failed_request_shows_a_remedy(show: Show) -> None:
    page = show().open("/_design/?frame=shell")
    page.get_by_role("button", name="Ask for what is refused").click()
    expect(page.locator("#notices")).to_contain_text("Reload the page to see what changed")
    page.context.set_offline(True)
    page.get_by_role("button", name="Ask for what is refused").click()
    expect(page.get_by_role("alert")).to_contain_text("Check your connection")


@pytest.mark.wide
def test_a_key_only_arms_a_decision(show: Show) -> None:
    page = show().open("/_design/?only=decision")
    bar = page.locator("[data-decision]").first
    page.keyboard.press("a")
    expect(bar.get_by_role("button", name="Approve →")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    expect(bar.get_by_role("button", name="Approve →")).to_have_attribute("aria-pressed", "false")
    assert page.url.endswith("only=decision")


@pytest.mark.wide
def test_a_combobox_filters_and_takes_the_value(show: Show) -> None:
    page = show().open("/_design/?only=combobox")
    field = page.get_by_role("combobox", name="Runner").first
    field.click()
    page.keyboard.type("band")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(field).to_have_value("Bandit")
    assert page.locator("input[name=lfrunner]").input_value() == "bandit"
