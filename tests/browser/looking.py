"""A page looked at as people do: at both widths and in both themes, and by axe."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from playwright.sync_api import Page

from tests.axe import grave
from tests.fixtures.browser import DESKTOP, PHONE

CARET: Literal["initial"] = "initial"
"""Hidden for a picture, the caret is a style attribute, which a part that is drawn anew meanwhile takes over: the
policy forbids that, and no user meets it."""


def look(page: Page, kept: Path, name: str) -> None:
    """A picture at both widths and in both themes; axe finds nothing grave, and nothing scrolls sideways."""
    for width, size in (("1440", DESKTOP), ("390", PHONE)):
        for theme in ("light", "dark"):
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            kept_as = kept / f"{name}-{width}-{theme}.png"
            page.screenshot(path=kept_as, full_page=True, animations="disabled", caret=CARET)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} at {width}"
    assert (found := grave(page)) == [], found
    page.set_viewport_size(DESKTOP)
    page.emulate_media(color_scheme="light")


def tick_unopened(page: Page) -> None:
    """Approve also what was not opened, where the review asks for that."""
    tick = page.locator("#decision-panel input[name=unopened]")
    if tick.count() and tick.is_visible():
        tick.check()
