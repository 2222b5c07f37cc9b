"""Choosing several reviews by keys, in a real browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import LineVersion, User
from tests.axe import grave
from tests.factories import World
from tests.fixtures.browser import PHONE
from tests.reviews.test_bulk import waits

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.wide
def test_keys_choose_and_a_table_comes_first(
    page: Page, sign_in: Callable[[Page | BrowserContext, User], None], world: World, line: LineVersion
) -> None:
    tasks = [waits(world, line, f"Task {n}") for n in range(2)]
    sign_in(page, world.reviewer)
    page.goto(reverse("needs-me"))
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    bar = page.locator("[data-chosen]")
    expect(bar).to_contain_text("2 selected")
    page.evaluate("document.body.dispatchEvent(new CustomEvent('gl:resync'))")
    page.wait_for_load_state("networkidle")
    expect(bar).to_contain_text("2 selected")
    assert grave(page) == []
    page.set_viewport_size(PHONE)
    bar.get_by_role("button", name="Approve …").click()
    expect(page.get_by_role("heading", name="Approve several reviews")).to_be_visible()
    assert grave(page) == []
    assert [world.status(task) for task in tasks] == ["awaiting_review"] * 2
    page.get_by_role("button", name="Approve 2 reviews").click()
    expect(page.get_by_text("What came of each.")).to_be_visible()
    assert [world.at(task) for task in tasks] == [["ship"]] * 2
    third = waits(world, line, "Task 3")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(reverse("gate-visit", args=[world.visit(third).pk]))
    page.keyboard.press("q")
    expect(page.get_by_role("textbox", name="Question")).to_be_focused()
    assert grave(page) == []
