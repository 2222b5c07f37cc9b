"""A button that is pressed again before its answer comes sends its form once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Locator, Page

from pipelines.models import Task, User
from tests.factories import World
from tests.pages.conftest import at

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]
# As while the server is at work: the page stays, and tells of each press whether it was sent
STAY = """() => {
  window.sent = [];
  window.addEventListener("submit", (event) => {
    window.sent.push(!event.defaultPrevented);
    event.preventDefault();
  });
}"""


def which_presses_send(page: Page, button: Locator) -> list[bool]:
    page.evaluate(STAY)
    button.click()
    button.click()
    return list(page.evaluate("window.sent"))


def test_a_second_click_starts_no_second_task(page: Page, sign_in: SignIn, world: World) -> None:
    version = world.line()
    sign_in(page, world.operator)
    page.goto(at(world, "task-new", version.line.key))
    page.get_by_label("Title").fill("Check it")
    assert which_presses_send(page, page.get_by_role("button", name="Start the task")) == [True, False]


def test_a_second_click_casts_no_second_vote(
    page: Page, sign_in: SignIn, world: World, waiting: Task
) -> None:
    sign_in(page, world.reviewer)
    page.goto(reverse("gate-visit", args=[world.visit(waiting).pk]))
    page.get_by_role("button", name="Approve → ship").click()
    assert which_presses_send(page, page.get_by_role("button", name="Confirm approval")) == [True, False]
