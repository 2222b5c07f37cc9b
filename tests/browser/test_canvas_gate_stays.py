"""A gate that is put on an edge stays drawn while what follows it is set up to ask for it, also on a machine so busy
that the layout of it takes long."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from pipelines.lines.publishing import create_line
from pipelines.models import Line
from tests.browser.canvas import draft, middle, node, on_edge, saved, settled
from tests.browser.conftest import Enter
from tests.factories import World, document, station

HELD_LAYOUTS = """
  const Free = Worker;
  window.Worker = class extends Free {
    postMessage(...message) {
      if (window.held) window.held.push(() => super.postMessage(...message));
      else super.postMessage(...message);
    }
  };
"""
"""What is asked of the layout waits, once `held` is a list."""


@pytest.fixture
def line(world: World) -> Line:
    """Tests lead on to Deliver, and back to Build."""
    passed = {"id": "on", "when": {"result": "success"}, "to": "deliver"}
    failed = {"id": "again", "when": {"result": "failure"}, "to": "build"}
    stations = [
        station("build", {"id": "built", "to": "tests"}, name="Build"),
        station("tests", passed, failed, name="Tests", kind="command", work={"command": "make test"}),
        station("deliver", {"id": "done", "to": "completed"}, name="Deliver", kind="deliver"),
    ]
    return create_line(world.project, "drawn", "Drawn", document(stations, key="drawn"), world.admin)


@pytest.mark.wide
@pytest.mark.parametrize("is_busy", [False, True], ids=["at once", "busy"])
def test_a_gate_on_an_edge_stays_when_what_follows_asks_for_it(
    line: Line, page: Page, enter_canvas: Enter, is_busy: bool
) -> None:
    page.add_init_script(HELD_LAYOUTS)
    enter_canvas(line)
    settled(page)
    if is_busy:
        page.evaluate("window.held = []")
    page.mouse.click(*on_edge(page, "on"))
    page.locator(".ed-palette").get_by_role("button", name="Person", exact=True).click()
    gate = page.locator('.ed-gate[data-rule="on"][data-gate="person"]')
    expect(gate).to_be_visible()
    node(page, "deliver").click()
    page.get_by_role("tab", name="Configure").click()
    page.get_by_label("Approved at").select_option("person")
    expect(gate).to_be_visible()
    x, y = middle(page.locator(".ed-canvas"))
    page.mouse.click(x, y + 230)
    saved(page)
    assert draft(line)["stations"][2]["work"]["gate"] == "person"
    expect(gate).to_be_visible()
    if is_busy:
        assert page.evaluate("window.held.length") > 0, "nothing was to be laid out"
        page.evaluate(
            "() => { const held = window.held; window.held = undefined; held.forEach(send => send()); }"
        )
    settled(page)
    expect(gate).to_be_visible()
