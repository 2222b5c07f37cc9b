"""Publishing and looking back in a real browser: ticked by keyboard, refused when stale, seen on the canvas."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from pipelines.lines import publishing
from pipelines.models import Line, User
from tests.axe import grave
from tests.factories import World, document, station
from tests.fixtures.site import Site
from tests.pages.conftest import at

ON = {"id": "on", "label": "Good", "when": {"eval": {"op": "equals", "value": "ok"}}, "to": "ship"}
Enter = Callable[[User], Page]


@pytest.fixture
def line(world: World) -> Line:
    """Live: build → ship. The draft, drawn by the designer: another target, a station more, and one warning."""
    first = [
        station("build", {"id": "on", "label": "Good", "to": "ship"}, name="Build"),
        station("ship", name="Ship"),
    ]
    live = world.line(document(first, key="drawn")).line
    more: Any = copy.deepcopy(first)
    more[0]["rules"] = [{**ON, "to": "test"}]
    more.insert(1, station("test", {"id": "tested", "to": "ship"}, name="Test"))
    given = document(more, key="drawn", policy={"no_match": "stuck"})
    return publishing.save_draft(live, given, world.designer, live.draft_number)


@pytest.fixture
def enter(page: Page, site: Site, world: World, line: Line, sign_in: Callable[[Page, User], None]) -> Enter:
    def entered(user: User) -> Page:
        sign_in(page, user)
        return page

    return entered


def test_a_draft_is_looked_at_ticked_and_published_by_keyboard(
    enter: Enter, world: World, line: Line
) -> None:
    page = enter(world.admin)
    page.goto(at(world, "line-publish", "drawn"))
    drawn = page.locator(".line-diff")
    expect(drawn.locator('.ed-station[data-mark="added"]')).to_contain_text("Test")
    expect(drawn.locator('.ed-way[data-mark="removed"]')).to_have_count(1)
    first = page.locator(".change").filter(has_text="Build, rule 1").first
    letter = first.locator(".diff-letter").inner_text()
    expect(drawn.locator(".diff-letter-on").get_by_text(letter, exact=True)).to_be_visible()
    publish = page.locator("#publish-go").get_by_role("button", name="Publish")
    expect(publish).to_be_enabled()
    assert grave(page) == []
    publish.focus()
    page.keyboard.press("Enter")
    seen = page.get_by_role("checkbox", name="I have reviewed")
    expect(seen).to_be_focused()
    page.keyboard.press("Space")
    warning = page.get_by_role("checkbox", name="the task gets stuck")
    warning.focus()
    page.keyboard.press("Space")
    publish.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(re.escape(at(world, "line", "drawn")) + "$"))
    line.refresh_from_db()
    assert line.live is not None
    assert line.live.number == 2


@pytest.mark.wide
def test_a_page_that_is_out_of_date_says_so_and_keeps_what_was_typed(
    enter: Enter, world: World, line: Line
) -> None:
    page = enter(world.designer)
    page.goto(at(world, "line-publish", "drawn"))
    page.get_by_label("Name of the version").fill("My words")
    page.get_by_role("checkbox", name="the task gets stuck").check()
    changed = {**line.draft, "name": "Else"}
    publishing.save_draft(line, changed, world.admin, line.draft_number)
    page.locator("#publish-go").get_by_role("button", name="Publish").click()
    refused = page.locator("#refused")
    expect(refused).to_contain_text("changed after this page was loaded")
    expect(refused).to_contain_text(f"{world.admin} changed name.")
    expect(page.get_by_label("Name of the version")).to_have_value("My words")
    expect(page.get_by_role("checkbox", name="the task gets stuck")).to_be_checked()
    expect(page.get_by_role("checkbox", name=f"1 change by {world.admin}")).not_to_be_checked()


@pytest.mark.wide
def test_a_part_that_fails_says_so_and_comes_when_it_is_asked_again(
    enter: Enter, world: World, line: Line
) -> None:
    page = enter(world.designer)
    broken = "**/publish/?part=difference"

    def fail(route: Route) -> None:
        route.fulfill(status=500, body="no")

    page.route(broken, fail)
    page.goto(at(world, "line-publish", "drawn"))
    card = page.locator("#elsewhere")
    expect(card).to_contain_text("could not be loaded")
    expect(page.locator("#publish-go").get_by_role("button", name="Publish")).to_be_enabled()
    page.unroute(broken)
    card.get_by_role("button", name="Try again").click()
    expect(card).to_contain_text("from v1 to the draft")


@pytest.mark.wide
def test_a_change_in_the_list_leads_to_its_place_and_a_version_is_restored(
    enter: Enter, world: World, line: Line
) -> None:
    page = enter(world.designer)
    page.goto(at(world, "line-versions", "drawn"))
    build = page.locator('.react-flow__node[data-id="build"]')
    expect(build).to_be_visible()
    rule = page.locator("button.change", has_text="Build, rule 1, “Good”: target")
    rule.focus()
    page.keyboard.press("Enter")
    expect(build).to_have_class(re.compile(r"\bselected\b"))
    assert grave(page) == []
    page.get_by_role("navigation", name="Versions").get_by_role("link", name="v1").click()
    page.get_by_role("button", name="Restore as a draft").click()
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    expect(page.locator(".ed-station")).to_have_count(2)
    page.goto(at(world, "line-versions", "drawn"))
    expect(page.get_by_role("navigation", name="Versions")).to_contain_text("Put aside")


@pytest.mark.wide
def test_an_error_leads_to_its_place_on_the_canvas(enter: Enter, world: World, line: Line) -> None:
    rules = [{"id": "all", "to": "ship"}, {"id": "late", "when": {"result": "failure"}, "to": "failed"}]
    given = document([station("build", *rules, name="Build"), "ship"], key="drawn")
    publishing.save_draft(line, given, world.designer, line.draft_number)
    page = enter(world.designer)
    page.goto(at(world, "line-publish", "drawn"))
    expect(page.locator("#publish-go").get_by_role("button", name="Publish")).to_be_disabled()
    page.get_by_role("list", name="Errors").get_by_role("link", name="Show on the canvas").click()
    expect(page.locator('.react-flow__node[data-id="build"]')).to_have_class(re.compile(r"\bselected\b"))


def test_the_place_of_the_drawing_is_never_blank_while_it_loads(
    enter: Enter, world: World, line: Line
) -> None:
    page, held = enter(world.designer), list[Route]()

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/picture?*", hold)
    with page.expect_request("**/picture?*"):
        page.goto(at(world, "line-publish", "drawn"))
    drawing = page.locator(".line-diff")
    expect(page.locator("#publish-go").get_by_role("button", name="Publish")).to_be_enabled()
    expect(drawing.get_by_role("status")).to_contain_text("Loading")
    expect(drawing).to_have_attribute("aria-busy", "true")
    waiting = drawing.bounding_box()
    assert waiting is not None and waiting["height"] >= 300, "it keeps the room that the drawing takes"
    held[0].continue_()
    expect(drawing).to_have_attribute("aria-busy", "false")
    expect(drawing.locator(".ed-station").first).to_be_visible()
    expect(drawing.get_by_role("status")).to_have_count(0)


@pytest.mark.wide
def test_a_first_version_shows_its_drawing_and_guarantees_and_a_ticked_warning_goes(
    enter: Enter, world: World
) -> None:
    stations = [
        station("build", {**ON, "gates": ["look"]}, name="Build"),
        station("ship", {"id": "out", "to": "completed"}, name="Ship"),
    ]
    given = document(
        stations,
        key="first",
        policy={"no_match": "stuck"},
        gates=[{"key": "look", "name": "Look"}],
        guarantees=[{"id": "looked", "never": {"reach": "ship", "without": "look"}}],
    )
    first = publishing.create_line(world.project, "first", "First", given, world.admin)
    page = enter(world.admin)
    page.goto(at(world, "line-publish", "first"))
    expect(page.locator("#changes .line-diff .ed-station")).to_have_count(2)
    promise = page.locator("#guarantees tbody tr")
    expect(promise).to_have_count(1)
    expect(promise).to_contain_text("Nothing reaches Ship without Look")
    expect(promise).to_contain_text("Proved")
    one, other = page.get_by_role("group", name="warning").get_by_role("checkbox").all()
    left = page.locator("#warnings-left")
    expect(left).to_contain_text("Acknowledge 2 warnings to publish")
    one.focus()
    page.keyboard.press("Space")
    expect(left).to_contain_text("Acknowledge 1 warning to publish")
    expect(page.get_by_role("heading", name="Acknowledge 1 warning", exact=True)).to_be_visible()
    other.check()
    expect(left).to_be_hidden()
    expect(page.get_by_role("heading", name="2 warnings acknowledged")).to_be_visible()
    assert grave(page) == []
    one.uncheck()
    expect(left).to_be_visible()
    one.check()
    page.locator("#publish-go").get_by_role("button", name="Publish").click()
    page.wait_for_url("**/lines/first/")
    first.refresh_from_db()
    assert first.live is not None
