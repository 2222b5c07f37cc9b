"""What the board keeps while its snapshots come and go, in a real browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.design.conftest import Shown

pytestmark = pytest.mark.browser
Show = Callable[..., Shown]


def test_who_walks_by_keyboard_stays_on_the_card_that_moves(show: Show) -> None:
    page = show().open("/board/")
    page.get_by_role("link", name="WI-app-7").focus()
    page.evaluate("() => document.querySelector('button').click()")
    moved = page.locator("[data-column=review] [data-card] a")
    expect(moved).to_be_focused()
