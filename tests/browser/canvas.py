"""What is done with the canvas of the editor, and what it is waited for."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from pipelines.models import Line

SAVING = re.compile(r"/draft(/forms/\w+)?$")
"""Whatever brings a draft to the server: a save, and what a form asks."""


def node(page: Page, key: str) -> Locator:
    return page.locator(f'.react-flow__node[data-id="{key}"]')


def middle(place: Locator) -> tuple[float, float]:
    box = place.bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def on_edge(page: Page, rule: str) -> tuple[float, float]:
    """Return a point of the rule's edge, past its gate."""
    x, y = page.locator(f'.ed-way[data-rule="{rule}"] > .ed-edge').evaluate(
        "path => { const at = path.getPointAtLength(0.7 * path.getTotalLength());"
        " const { x, y } = at.matrixTransform(path.getScreenCTM()); return [x, y]; }"
    )
    return x, y


def add_station(page: Page, kind: str = "manual") -> None:
    page.locator("#ed-search").fill(kind)
    page.keyboard.press("Enter")
    page.locator("#ed-search").fill("")


def rename_chosen(page: Page, name: str) -> None:
    page.locator("#ed-name").fill(name)
    page.keyboard.press("Enter")


def line_settings(page: Page, part: str) -> None:
    """Open a part of what is set of the line: nothing is chosen."""
    page.get_by_role("tab", name="Settings").click()
    page.locator(".ed-settings").get_by_role("button", name=part).click()


def saved(page: Page) -> None:
    expect(page.locator(".ed-save")).to_have_attribute("data-state", "saved")


def settled(page: Page) -> None:
    """Wait until what was changed is saved and laid out: until then its parts may move."""
    saved(page)
    expect(page.locator('.react-flow[aria-busy="false"]')).to_be_visible()


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(start[0] + 12, start[1], steps=2)
    page.mouse.move(*end, steps=8)
    page.mouse.up()


def draft(line: Line) -> dict[str, Any]:
    line.refresh_from_db()
    return dict(line.draft)
