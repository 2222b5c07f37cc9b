"""A long line opens without holding up its page: what is not needed for editing comes afterwards, or is scrolled to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from pipelines.lines.publishing import create_line
from pipelines.models import Line
from proof.bench.editor import line_of
from tests.factories import World

Enter = Callable[[Line], Page]
STATIONS = 120
MAX_ELEMENTS = 3_000
"""Of the whole page: with all rules beside the canvas there were 6,700."""


@pytest.fixture
def canvas(world: World, enter_canvas: Enter) -> Page:
    document: dict[str, Any] = {**line_of(STATIONS), "key": "long", "name": "Long"}
    return enter_canvas(create_line(world.project, "long", "Long", document, world.admin))


def test_a_long_line_opens_with_few_elements(canvas: Page) -> None:
    expect(canvas.locator(".ed-line-rules").first).to_be_visible()
    assert canvas.evaluate("document.querySelectorAll('*').length") < MAX_ELEMENTS


@pytest.mark.wide
def test_rules_of_all_stations_come_as_they_are_scrolled_to(canvas: Page) -> None:
    rules = canvas.locator(".ed-line-rules")
    more = canvas.get_by_role("button", name="more station")
    expect(rules.first).to_be_visible()
    assert rules.count() < STATIONS
    while rules.count() < STATIONS:
        before = rules.count()
        rules.last.scroll_into_view_if_needed()
        expect(rules.nth(before)).to_be_attached()
    expect(more).to_have_count(0)
    rules.last.get_by_role("button", name="failure").click()
    expect(canvas.locator("#ed-name")).to_have_value(f"Station {STATIONS - 1}")
