"""What the board keeps while its snapshots come and go, in a real browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.design.conftest import Shown

pytestmark = pytest.mark.browser
Show = Callable[..., Shown]


def test_a_phone_shows_the_first_column_with_a_task_until_somebody_chooses(show: Show) -> None:
    page = show(390).open("/board/?card=review")
    expect(page.locator("[data-shown]")).to_have_attribute("data-column", "review")
    page.get_by_label("Column").select_option("ended")
    page.get_by_role("button", name="Move").click()
    expect(page.locator("[data-card]")).to_be_attached()
    expect(page.locator("[data-shown]")).to_have_attribute("data-column", "ended")
    expect(page.get_by_label("Column")).to_have_value("ended")


def test_a_new_snapshot_leaves_the_columns_where_they_were_scrolled_to(show: Show) -> None:
    page = show().open("/board/")
    column = page.locator("[data-scroll=ended]")
    column.evaluate("(each) => { each.scrollTop = 120 }")
    page.get_by_role("button", name="Move").click()
    expect(page.locator("[data-column=review] [data-card]")).to_be_visible()
    assert column.evaluate("(each) => each.scrollTop") == 120


def test_who_walks_by_keyboard_stays_on_the_card_that_moves(show: Show) -> None:
    page = show().open("/board/")
    page.get_by_role("link", name="WI-app-7").focus()
    page.evaluate("() => document.querySelector('button').click()")
    moved = page.locator("[data-column=review] [data-card] a")
    expect(moved).to_be_focused()
