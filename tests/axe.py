"""What axe finds wrong with a page that keeps somebody from using it."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.waiting import until

SETTLED = """document.getAnimations().every(
  ({playState, effect, timeline}) =>
    timeline !== document.timeline || playState !== "running" || effect.getComputedTiming().endTime === Infinity
)"""
"""What follows the place that something is scrolled to never ends, and does not move."""


def grave(page: Page, part: str | dict[str, Any] | None = None, **options: Any) -> list[str]:
    """Serious and critical violations of the page, or of a part of it: the rule, and what breaks it."""
    found = Axe().run(page, part, {"resultTypes": ["violations"], **options}).response["violations"]
    return [
        f"{each['id']}: {node['html'][:200]}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


def settle(page: Page) -> None:
    """Wait until nothing moves on the page but what never ends, as a skeleton does: a colour on its way is no fault."""
    until(lambda: page.evaluate(SETTLED), "everything still moves", page)
