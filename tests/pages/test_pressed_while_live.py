"""What is pressed on a live page is clicked, though the page is drawn anew before it is let go."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import LineVersion, User
from tests.factories import World
from tests.pages.conftest import at
from tests.pages.test_board import LINE

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def bring_second(page: Page, world: World, version: LineVersion) -> None:
    """Start another task, and wait until the page has its answer: htmx shows one at once, if nothing holds it back."""
    page.evaluate(
        "() => { window.answers = 0; document.addEventListener('htmx:beforeSwap', () => answers++) }"
    )
    with page.expect_response(lambda response: "fragment" in response.url):
        world.start(version, title="second")
    page.wait_for_function("answers > 0")


def test_a_card_that_comes_anew_while_it_is_pressed_is_opened(
    new_context: Callable[..., BrowserContext],
    sign_in: Callable[[Page | BrowserContext, User], None],
    world: World,
) -> None:
    version = world.line(LINE)
    first = world.start(version, title="first")
    page = new_context().new_page()
    sign_in(page, world.operator)
    with page.expect_response(lambda response: "fragment" in response.url):
        page.goto(at(world, "line-live", "line"))
    page.get_by_role("link", name="first").hover()
    page.mouse.down()
    bring_second(page, world, version)
    expect(page.get_by_role("link", name="second")).to_have_count(0)
    page.mouse.up()
    page.wait_for_url(f"**{at(world, 'task', first.name)}")


def test_what_was_held_back_is_shown_after_the_release(
    new_context: Callable[..., BrowserContext],
    sign_in: Callable[[Page | BrowserContext, User], None],
    world: World,
) -> None:
    version = world.line(LINE)
    world.start(version, title="first")
    page = new_context().new_page()
    sign_in(page, world.operator)
    with page.expect_response(lambda response: "fragment" in response.url):
        page.goto(at(world, "line-live", "line"))
    page.locator("[data-column='station:build'] h2").hover()
    page.mouse.down()
    bring_second(page, world, version)
    expect(page.get_by_role("link", name="second")).to_have_count(0)
    page.mouse.up()
    expect(page.get_by_role("link", name="second")).to_be_visible()


def test_a_scroll_bar_that_was_let_go_holds_nothing_back(
    new_context: Callable[..., BrowserContext],
    sign_in: Callable[[Page | BrowserContext, User], None],
    world: World,
) -> None:
    """Its release is told to no page, only that the pointer moves on with nothing pressed."""
    version = world.line(LINE)
    world.start(version, title="first")
    page = new_context().new_page()
    sign_in(page, world.operator)
    with page.expect_response(lambda response: "fragment" in response.url):
        page.goto(at(world, "line-live", "line"))
    page.locator("[data-column='station:build'] h2").hover()
    page.mouse.down()
    bring_second(page, world, version)
    expect(page.get_by_role("link", name="second")).to_have_count(0)
    page.evaluate("document.dispatchEvent(new PointerEvent('pointermove', {buttons: 0}))")
    expect(page.get_by_role("link", name="second")).to_be_visible()
