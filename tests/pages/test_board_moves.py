"""Cards of a board moved by hand in a real browser: dragged, or with M, the plan first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from pipelines import engine
from pipelines.models import Task, User
from tests.browser.looking import look
from tests.factories import World
from tests.pages.conftest import at
from tests.pages.test_board import LINE

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
BUILD = "[data-column='station:build']"
SignIn = Callable[[Page | BrowserContext, User], None]


def board_with(world: World, *titles: str) -> list[Task]:
    version = world.line(LINE)
    return [world.start(version, title=title) for title in titles]


@pytest.fixture
def page(new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World) -> Page:
    page = new_context().new_page()
    sign_in(page, world.operator)
    return page


def opened(page: Page, world: World) -> Page:
    page.goto(at(world, "line-live", "line"))
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    expect(page.locator(BUILD)).to_be_visible()
    return page


def drag(page: Page, source: Locator, target: Locator) -> None:
    """Drag by the events of the browser: on a busy machine the mouse of the driver misses the beginning of a drag."""
    carried = page.evaluate_handle("() => new DataTransfer()")
    source.dispatch_event("dragstart", {"dataTransfer": carried})
    for event in ("dragenter", "dragover", "drop"):
        target.dispatch_event(event, {"dataTransfer": carried})
    source.dispatch_event("dragend", {"dataTransfer": carried})


def width_of_build(page: Page) -> int:
    # Found and measured at once: a snapshot may take the place of what was found before
    return int(page.evaluate("selector => document.querySelector(selector).offsetWidth", BUILD))


def test_a_card_is_dragged_and_the_plan_is_shown_first(page: Page, world: World, tmp_path: Path) -> None:
    first, second = board_with(world, "first", "second")
    opened(page, world)
    width = width_of_build(page)
    drag(page, page.get_by_text("first"), page.locator("[data-column='station:check'] .board-empty"))
    dialog = page.get_by_role("dialog", name=f"Move {first.name} from build")
    expect(dialog.get_by_label("To")).to_have_value("check")
    expect(dialog.get_by_text("check starts.")).to_be_visible()
    expect(dialog.get_by_text("From there it goes to ship.")).to_be_visible()
    assert world.at(first) == ["build"], "nothing is moved before somebody confirms it"
    look(page, tmp_path, "plan")
    dialog.get_by_role("button", name="Move").click()
    expect(dialog).to_have_count(0)
    moved = page.locator(f"[data-column='station:check'] [data-task='{first.name}']")
    expect(moved).to_be_visible()
    expect(page.locator("#announcer")).to_contain_text(f"{first.name} moved to check.")
    assert (world.at(first), world.at(second)) == (["check"], ["build"])
    assert width_of_build(page) == width > 0


@pytest.mark.wide
def test_a_card_dropped_on_a_gate_or_an_end_moves_nothing(page: Page, world: World) -> None:
    (task,) = board_with(world, "first")
    opened(page, world)
    for column in ("gate:look", "ended", "station:build"):
        drag(page, page.get_by_text("first"), page.locator(f"[data-column='{column}']"))
        expect(page.get_by_role("dialog")).to_have_count(0)
    assert world.at(task) == ["build"]


def test_by_keyboard_a_card_is_moved_and_keeps_the_focus(page: Page, world: World) -> None:
    first, second = board_with(world, "first", "second")
    opened(page, world)
    link = page.get_by_role("link", name="second")
    link.focus()
    page.keyboard.press("m")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("To")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(link).to_be_focused()
    page.keyboard.press("m")
    dialog.get_by_label("To").select_option("ship")
    expect(dialog.get_by_text("It then waits at ship")).to_be_visible()
    dialog.get_by_label("Reason").fill("It is built already")
    dialog.get_by_role("button", name="Move").press("Enter")
    expect(
        page.locator(f"[data-column='station:ship'] [data-task='{second.name}'] .task-card-title")
    ).to_be_focused()
    assert world.at(first) == ["build"]
    assert second.events.filter(data__reason="It is built already").exists()


@pytest.mark.wide
def test_who_is_slower_is_told_who_moved_it_and_where(page: Page, world: World) -> None:
    (task,) = board_with(world, "first")
    opened(page, world)
    drag(page, page.get_by_text("first"), page.locator("[data-column='station:check'] .board-empty"))
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("check starts.")).to_be_visible()
    token = world.token(task)
    engine.move_or_retry_by_hand(token.pk, user=world.admin, token_version=token.version, to="ship")
    expect(dialog.get_by_text(f"{world.admin}: build → ship.")).to_be_visible()
    dialog.get_by_role("button", name="Move").click()
    expect(dialog.get_by_text("Nothing was moved by you")).to_be_visible()
    assert world.at(task) == ["ship"]
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.locator("[data-column='station:ship'] [data-card]")).to_be_visible()


@pytest.mark.wide
def test_each_card_has_the_verb_that_helps(page: Page, world: World) -> None:
    asked, stuck, runs = board_with(world, "asked", "stuck", "runs")
    world.report(asked)
    world.report(asked, {"eval": "ok"})
    world.report(stuck)
    world.report(stuck, {"eval": "strange"})
    world.started(runs)
    opened(page, world)
    verbs = {
        task.title: page.locator(f"[data-task='{task.name}'] .button").all_inner_texts()
        for task in (asked, stuck, runs)
    }
    assert verbs == {"asked": ["Review"], "stuck": ["Why", "Retry"], "runs": []}
    page.get_by_role("link", name="Review", exact=True).click()
    expect(page.get_by_role("heading", name="A look")).to_be_visible()


@pytest.mark.wide
def test_on_a_phone_and_for_a_viewer_nothing_is_dragged(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World
) -> None:
    (task,) = board_with(world, "first")
    page = new_context(viewport={"width": 390, "height": 844}).new_page()
    sign_in(page, world.viewer)
    opened(page, world)
    expect(page.locator(f"[data-task='{task.name}']")).to_be_visible()
    expect(page.locator("[data-move]")).to_have_count(0)


@pytest.mark.wide
def test_a_card_that_comes_anew_behind_the_dialog_gets_the_focus_back(page: Page, world: World) -> None:
    board_with(world, "first")
    with page.expect_response(lambda response: "fragment" in response.url):
        opened(page, world)
    link = page.get_by_role("link", name="first")
    link.focus()
    page.keyboard.press("m")
    expect(page.get_by_role("dialog").get_by_label("To")).to_be_focused()
    board_with(world, "second")
    expect(page.get_by_role("link", name="second", include_hidden=True)).to_be_attached()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(link).to_be_focused()
