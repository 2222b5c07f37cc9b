"""The Connect dialog by mouse, and what is dragged onto a canvas that has something lying over it."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from pipelines.lines.publishing import create_line
from pipelines.models import Line
from tests.browser.canvas import add_station, draft, node, saved, settled
from tests.browser.conftest import Enter
from tests.factories import World, document, station


def made(world: World, *stations: dict[str, Any]) -> Line:
    return create_line(world.project, "drawn", "Drawn", document(stations, key="drawn"), world.admin)


@pytest.fixture
def line(world: World) -> Line:
    return made(world, station("build"), station("lint"), station("test"))


@pytest.mark.wide
def test_a_fork_is_made_in_the_dialog_with_the_mouse(line: Line, enter_canvas: Enter) -> None:
    page = enter_canvas(line)
    node(page, "build").click()
    page.keyboard.press("l")
    dialog = page.get_by_role("dialog", name="Connect build to")
    options = [dialog.get_by_role("option", name=name) for name in ("lint", "test")]
    for option in options:
        plus = option.get_by_title("Select several")
        inside, outside = plus.bounding_box(), option.bounding_box()
        assert inside and outside
        assert outside["x"] < inside["x"] < outside["x"] + outside["width"] - 1
        assert outside["y"] <= inside["y"] < outside["y"] + outside["height"] - 1
        plus.click()
        expect(option).to_have_attribute("aria-selected", "true")
    expect(dialog).to_contain_text("A fork to lint, test")
    dialog.get_by_role("button", name="Connect").click()
    saved(page)
    assert draft(line)["stations"][0]["rules"][-1]["to"] == ["lint", "test"]


@pytest.mark.wide
def test_an_empty_line_takes_what_is_dropped_on_its_own_words(world: World, enter_canvas: Enter) -> None:
    line = made(world)
    page = enter_canvas(line)
    words = page.get_by_text("Drag a station here")
    page.get_by_role("button", name="No-op", exact=True).drag_to(words)
    expect(page.locator(".ed-station")).to_have_count(1)
    saved(page)
    assert [each["work"]["kind"] for each in draft(line)["stations"]] == ["noop"]


@pytest.mark.wide
def test_what_is_dropped_on_a_tool_over_the_canvas_stands_below_it(line: Line, enter_canvas: Enter) -> None:
    page = enter_canvas(line)
    page.get_by_role("button", name="No-op", exact=True).drag_to(page.get_by_role("group", name="Changes"))
    expect(page.locator(".ed-station")).to_have_count(4)
    saved(page)


HOLD = """() => {
  const post = Worker.prototype.postMessage, held = [];
  Worker.prototype.postMessage = function (...asked) { held.push(() => post.apply(this, asked)) };
  window.layOut = () => new Promise((done) => {
    Worker.prototype.postMessage = function (...asked) {
      // After the canvas has taken the answer and drawn it.
      this.addEventListener('message', () => requestAnimationFrame(() => setTimeout(done)), { once: true });
      post.apply(this, asked);
    };
    const [last] = held.slice(-1);
    last && last.call();
  });
}"""
"""Delay the requests to the layout worker until `layOut`."""


def test_a_layout_that_comes_while_a_rule_is_drawn_moves_nothing_away(
    line: Line, enter_canvas: Enter
) -> None:
    page = enter_canvas(line)
    settled(page)
    page.evaluate(HOLD)
    add_station(page)
    manual = node(page, "manual")
    expect(manual).to_be_visible()
    expect(page.locator('.react-flow[aria-busy="true"]')).to_be_visible()
    node(page, "test").locator('[data-port="@new"]').hover()
    page.mouse.down()
    before = manual.bounding_box()
    assert before
    # At its edge: where it will not be.
    page.mouse.move(before["x"] + before["width"] - 10, before["y"] + before["height"] / 2, steps=8)
    page.evaluate("layOut()")
    assert manual.bounding_box() == before
    page.mouse.up()
    settled(page)
    assert manual.bounding_box() != before
    assert draft(line)["stations"][2]["rules"][-1]["to"] == "manual"
