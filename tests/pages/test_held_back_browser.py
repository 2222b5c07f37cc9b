"""What a live page held back under a dialog or a menu comes when that is closed, and until then the dot says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import Task, User
from tests.factories import World, document
from tests.pages.conftest import at
from tests.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]


def open_task(page: Page, sign_in: SignIn, world: World) -> Task:
    task = world.start(world.line(document(["build"])))
    sign_in(page, world.operator)
    page.goto(at(world, "task", task.name))
    expect(page.locator("[data-live-state]").first).to_have_attribute("data-state", "live")
    return task


def test_a_task_that_ended_under_a_dialog_is_shown_as_ended_when_it_is_closed(
    page: Page, sign_in: SignIn, world: World
) -> None:
    task = open_task(page, sign_in, world)
    page.get_by_role("button", name="Cancel", exact=True).click()
    world.report(task)
    dot = page.locator("[data-live-state]").first
    expect(dot).to_have_attribute("data-state", "behind")
    page.keyboard.press("Escape")
    expect(page.locator(".task-head")).to_contain_text("Completed")
    expect(page.get_by_role("button", name="Cancel", exact=True)).to_have_count(0)


def test_a_menu_stays_open_while_its_task_moves(page: Page, sign_in: SignIn, world: World) -> None:
    task = open_task(page, sign_in, world)
    page.get_by_role("button", name="More actions").click()
    fork = page.locator("#task-more .menu-item").first
    expect(fork).to_be_focused()
    page.evaluate(
        "() => { window.answers = 0; document.addEventListener('htmx:beforeSwap', () => answers++) }"
    )
    world.report(task)
    until(lambda: page.evaluate("answers > 0"), "an answer", page)
    expect(fork).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".task-head")).to_contain_text("Completed")
    expect(page.get_by_role("button", name="More actions")).to_be_focused()
