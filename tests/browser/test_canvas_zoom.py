"""Whatever the zoom, what the canvas says can be read."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from pipelines.lines.publishing import create_line
from pipelines.models import Line
from proof.bench.editor import line_of
from tests.browser.canvas import settled
from tests.browser.test_canvas_notation import TANGLED
from tests.factories import World
from tests.waiting import until

Enter = Callable[[Line], Page]
LEGIBLE = 10
"""Pixels on the screen that no letter is smaller than (docs/drawing.md)."""
ZOOM = (
    """() => new DOMMatrix(getComputedStyle(document.querySelector('.react-flow__viewport')).transform).a"""
)
LETTERS = """() => {
  const viewport = document.querySelector('.react-flow__viewport');
  const zoom = new DOMMatrix(getComputedStyle(viewport).transform).a;
  const found = {};
  const texts = document.createTreeWalker(viewport, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const place = texts.currentNode.parentElement;
    const isSeen = place.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    if (!isSeen || !texts.currentNode.data.trim() || place.closest('.visually-hidden, svg')) continue;
    const what = place.closest('[class^="ed-"]')?.classList[0] ?? place.className;
    (found[what] ??= []).push(parseFloat(getComputedStyle(place).fontSize) * zoom);
  }
  return found;
}"""
PLACE = {"x": 0, "y": 320, "width": 200, "height": 96}
NOTES = [
    {"key": "n1", "text": "Mind this.", "tone": "attention", **PLACE},
    {"key": "n2", "text": "Checks", "tone": "ok", "over": ["qa", "law"], **PLACE},
]
SAID = {"ed-name", "ed-words", "ed-gate-name", "ed-stub", "ed-note-text", "ed-port", "ed-end", "ed-retry"}


@pytest.fixture
def line(world: World) -> Line:
    document: dict[str, Any] = {
        **copy.deepcopy(TANGLED),
        "key": "tangled",
        "extra": {"editor": {"notes": NOTES}},
    }
    return create_line(world.project, "tangled", "Tangled", document, world.admin)


def letters(page: Page) -> dict[str, list[float]]:
    """Sizes on the screen of all that can be seen, by what it is, as soon as the canvas is drawn for its zoom."""
    zoom = page.evaluate(ZOOM)
    level = "near" if zoom >= 0.66 else "middle" if zoom >= 0.3 else "far"
    expect(page.locator(f".react-flow.ed-level-{level}")).to_be_visible()
    found: dict[str, list[float]] = {}

    def legible() -> bool:
        found.clear()
        found.update(page.evaluate(LETTERS))
        return min(size for sizes in found.values() for size in sizes) >= LEGIBLE

    until(legible, lambda: f"at {page.evaluate(ZOOM):.2f} there are letters of {found}")
    return found


@pytest.mark.wide
def test_no_letter_is_too_small_to_be_read_and_names_are_all_as_large(
    enter_canvas: Enter, line: Line
) -> None:
    page = enter_canvas(line)
    expect(page.locator(".ed-way").first).to_be_attached()
    page.keyboard.press("0")
    expect(page.locator(".ed-zoom output")).to_have_text("100%")
    until(lambda: set(letters(page)) >= SAID, lambda: f"there are letters of {sorted(letters(page))}")
    seen = []
    for _press in range(11):
        before = page.evaluate(ZOOM)
        page.keyboard.press("-")
        page.wait_for_function(f"({ZOOM})() < {before * 0.9}")
        zoom = page.evaluate(ZOOM)
        found = letters(page)
        seen.append(zoom)
        assert len({round(size, 2) for size in found["ed-name"]}) == 1, f"names differ at {zoom:.2f}"
        assert ("ed-words" in found) == (zoom >= 0.66)
    assert min(seen) < 0.2


@pytest.mark.wide
def test_three_hundred_stations_say_nothing_that_cannot_be_read(world: World, enter_canvas: Enter) -> None:
    many = create_line(world.project, "many", "Many", line_of(300), world.admin)
    page = enter_canvas(many)
    settled(page)
    assert "ed-row" in letters(page)


ADDED = """() => {
  window.added = 0;
  const seen = (all) => {
    for (const node of all.flatMap((each) => [...each.addedNodes]))
      if (node instanceof Element) window.added += 1 + node.querySelectorAll('*').length;
  };
  new MutationObserver(seen).observe(document.querySelector('.react-flow'), { childList: true, subtree: true });
}"""


@pytest.mark.wide
def test_on_the_way_to_the_whole_line_nothing_is_drawn_that_cannot_be_read_there(
    world: World, enter_canvas: Enter
) -> None:
    many = create_line(world.project, "many", "Many", line_of(300), world.admin)
    page = enter_canvas(many)
    settled(page)
    page.keyboard.press("0")
    expect(page.locator(".react-flow.ed-level-near .ed-words").first).to_be_visible()
    page.evaluate(ADDED)
    page.keyboard.press("1")
    expect(page.locator(".react-flow.ed-level-far .ed-station")).to_have_count(300)
    # A card from afar is a handful of elements, with its words and edges it is thirty.
    assert page.evaluate("() => window.added") < 8 * 300
