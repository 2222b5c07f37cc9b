"""Stored drawings in a real Chromium: seen without script, the first thing that is painted with it, and inert."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.lines import drawings
from pipelines.models import User
from tests.factories import World
from tests.fixtures.browser import DESKTOP, PHONE
from tests.pages.conftest import at
from tests.pages.test_stored_drawings import HOSTILE, draw_all, hostile, picture, simple

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]
SHIFT = """() => {
  window.shift = 0;
  window.sources = [];
  new PerformanceObserver(list => list.getEntries().forEach(each => {
    window.shift += each.value;
    window.sources.push([each.value, ...each.sources.map(({ node, previousRect, currentRect }) =>
      `${node?.className ?? node?.nodeName} ${previousRect.y} -> ${currentRect.y}`)].join("; "));
  })).observe({ type: "layout-shift", buffered: true });
}"""
NODES = """markup => {
  const place = document.createElement("div");
  place.innerHTML = markup;
  document.body.append(place);
  const all = [...place.querySelectorAll("*")];
  return [
    [...new Set(all.map(each => each.localName))].sort(),
    [...new Set(all.flatMap(each => each.getAttributeNames()))].filter(each => /^on|href|src|style/.test(each)),
    all.every(each => each.namespaceURI === "http://www.w3.org/2000/svg"),
  ];
}"""


@pytest.fixture(autouse=True)
def rested() -> Iterator[None]:
    drawings._requested.clear()
    yield
    drawings.DRAWER.stop()


def visit(page: Page, addresses: list[str]) -> None:
    """So that each drawing is asked for, and drawn."""
    for address in addresses:
        page.goto(address)
    draw_all()


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_stations_are_seen_without_script_and_nothing_moves_with_it(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World, size: dict[str, int]
) -> None:
    version = world.line(simple())
    task = world.start(version)
    addresses = [
        at(world, "line", version.line.key),
        at(world, "task", task.name),
    ]
    plain = new_context(java_script_enabled=False, viewport=size)
    sign_in(plain, world.operator)
    page = plain.new_page()
    visit(page, addresses)
    for address in addresses:
        page.goto(address)
        for name in ("Build", "Ship"):
            expect(page.locator(".line-still svg text:visible", has_text=name)).to_have_count(1)
    context = new_context(viewport=size)
    sign_in(context, world.operator)
    page = context.new_page()
    page.add_init_script(f"({SHIFT})()")
    for address in addresses:
        for _time in ("the letters are loaded", "it is measured"):
            page.goto(address)
            expect(page.locator(".line-shown .ed-station")).to_have_count(2)
        expect(page.locator("[data-line-still]")).to_have_count(0)
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
        assert page.evaluate("window.shift") <= 0.02, (address, page.evaluate("window.sources"))


def test_hostile_words_stay_words_in_the_page(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World
) -> None:
    given = picture(hostile())
    drawn = drawings.DRAWER.draw(given)
    context = new_context()
    sign_in(context, world.operator)
    page = context.new_page()
    said: list[Any] = []
    asked: list[str] = []
    page.on("dialog", lambda dialog: said.append(dialog))
    page.goto(at(world, "lines"))
    page.on("request", lambda request: asked.append(request.url))
    for frame in drawings.FRAMES:
        svg = drawings.checked_svg(drawn[frame]["svg"], given)
        elements, attributes, all_svg = page.evaluate(NODES, svg)
        assert set(elements) <= {"svg", "g", "title", "text", "path", "rect", "circle", "polygon"}
        assert (attributes, all_svg) == ([], True)
        assert HOSTILE[0] in page.locator("title", has_text="</text>").first.text_content()  # type: ignore[operator]
    page.wait_for_load_state("networkidle")
    assert (said, [url for url in asked if "evil" in url]) == ([], [])
