"""What is put on the canvas by hand: a gate is what the palette shows, ends and gates are connected or ask where they
belong, a click does not move the view, copies keep places and names, and the sides fold to icons."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from pipelines.lines.publishing import create_line
from pipelines.models import Line
from tests.axe import grave
from tests.browser.canvas import draft, drag, middle, node, on_edge, saved, settled
from tests.browser.conftest import Enter
from tests.factories import World, document, station

FAILED: dict[str, Any] = {"id": "late", "when": {"result": "failure"}, "to": "failed"}
ON: dict[str, Any] = {"id": "on", "when": {"result": "success"}, "to": "ship"}


@pytest.fixture
def line(world: World) -> Line:
    """Two stations: of the first the second rule is usually taken, of the last only the policy leads on."""
    stations = [station("build", FAILED, ON, name="Build"), station("ship", name="Ship")]
    return create_line(world.project, "drawn", "Drawn", document(stations, key="drawn"), world.admin)


@pytest.fixture
def canvas(line: Line, enter_canvas: Enter) -> Page:
    return enter_canvas(line)


def palette(page: Page, name: str) -> Locator:
    return page.locator(".ed-palette").get_by_role("button", name=name, exact=True)


def rules(line: Line, key: str) -> list[dict[str, Any]]:
    [found] = [each for each in draft(line)["stations"] if each["key"] == key]
    assert "gate" not in found
    return list(found.get("rules", []))


def view(page: Page) -> str | None:
    return page.locator(".react-flow__viewport").get_attribute("style")


def height(page: Page) -> float:
    moved = page.locator(".react-flow__viewport").evaluate(
        "each => new DOMMatrix(getComputedStyle(each).transform).f"
    )
    return float(moved)


def unchosen(page: Page) -> None:
    page.locator(".ed-inspector-head").get_by_role("button", name="Close").click()


def test_a_gate_is_the_hexagon_that_the_palette_shows(canvas: Page, line: Line) -> None:
    node(canvas, "build").click()
    palette(canvas, "Person").click()
    expect(canvas.locator('.ed-gate[data-rule="on"][data-gate="person"]')).to_be_visible()
    expect(canvas.locator(".ed-inspector")).to_contain_text("Who decides")
    node(canvas, "ship").click()
    palette(canvas, "Checks").click()
    expect(canvas.locator('.ed-gate[data-gate="checks"]')).to_be_visible()
    saved(canvas)
    assert rules(line, "build") == [FAILED, {**ON, "gates": ["person"]}]
    passed = {
        "id": "ship-to-completed",
        "when": {"result": "success"},
        "to": "completed",
        "gates": ["checks"],
    }
    assert rules(line, "ship") == [passed]
    assert [gate["mode"] for gate in draft(line)["gates"]] == ["manual", "auto"]


@pytest.mark.wide
def test_a_gate_over_nothing_asks_where_it_belongs_by_keyboard(canvas: Page, line: Line) -> None:
    before = draft(line)
    canvas.locator("#ed-search").focus()
    canvas.keyboard.type("person")
    canvas.keyboard.press("Enter")
    dialog = canvas.get_by_role("dialog", name="Where is Person asked?")
    expect(dialog.get_by_role("listitem")).to_have_text(
        [
            "Build → Failedresult is failure",
            "Build → Shipresult is success",
            "Ship → Completedwhatever passed",
        ]
    )
    assert grave(canvas, "dialog[open]") == []
    canvas.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert draft(line) == before
    canvas.locator("#ed-search").focus()
    canvas.keyboard.press("Enter")
    canvas.keyboard.type("build → ship")
    canvas.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    expect(canvas.locator('.ed-gate[data-rule="on"][data-gate="person"]')).to_be_visible()
    saved(canvas)
    assert rules(line, "build") == [FAILED, {**ON, "gates": ["person"]}]


@pytest.mark.wide
def test_an_end_over_nothing_asks_which_station_leads_to_it(canvas: Page, line: Line) -> None:
    palette(canvas, "Cancelled").click()
    dialog = canvas.get_by_role("dialog", name="Which station leads to Cancelled?")
    dialog.get_by_role("button", name="Ship").click()
    expect(dialog).to_have_count(0)
    saved(canvas)
    [end] = [each["key"] for each in draft(line)["ends"] if each["kind"] == "cancelled"]
    assert [rule["to"] for rule in rules(line, "ship")] == [end]
    # Let go over nothing it stands there, and says what it lacks where nobody chooses.
    settled(canvas)
    x, y = middle(canvas.locator(".ed-canvas"))
    drag(canvas, middle(palette(canvas, "Completed")), (x, y + 200))
    asked = canvas.get_by_role("dialog", name="Which station leads to Completed?")
    expect(asked).to_be_visible()
    canvas.keyboard.press("Escape")
    expect(canvas.locator(".ed-notice")).to_contain_text("Nothing leads to this end yet")


@pytest.mark.wide
def test_a_click_does_not_move_the_view(canvas: Page, line: Line) -> None:
    settled(canvas)
    before, at_first = view(canvas), height(canvas)
    for place in (node(canvas, "build"), node(canvas, "ship"), node(canvas, "@start")):
        place.click()
        assert view(canvas) == before
    canvas.mouse.click(*on_edge(canvas, "on"))
    expect(canvas.locator(".ed-inspector .ed-rule[data-open]")).to_have_count(1)
    palette(canvas, "Person").click()
    expect(canvas.locator('.ed-gate[data-gate="person"]')).to_be_visible()
    settled(canvas)
    unchosen(canvas)
    assert view(canvas) == before
    # What is added out of view comes into it, by as little as that takes.
    node(canvas, "ship").click()
    for number in range(3, 7):
        palette(canvas, "No-op").click()
        expect(canvas.locator(".ed-station")).to_have_count(number)
        settled(canvas)
        box, pane = (
            canvas.locator(".react-flow__node.selected").bounding_box(),
            canvas.locator(".ed-flow").bounding_box(),
        )
        assert box and pane
        assert box["x"] + box["width"] <= pane["x"] + pane["width"]
    assert height(canvas) == at_first


@pytest.mark.wide
def test_copies_have_names_and_places_of_their_own_and_lead_nothing_astray(canvas: Page, line: Line) -> None:
    settled(canvas)
    drag(canvas, middle(node(canvas, "build")), (middle(node(canvas, "build"))[0], 600))
    saved(canvas)
    before = draft(line)
    [x, y] = before["extra"]["editor"]["positions"]["build"]
    node(canvas, "build").click()
    canvas.keyboard.press("Control+d")
    expect(node(canvas, "build-2")).to_contain_text("Build 2")
    saved(canvas)
    after = draft(line)
    assert [each["key"] for each in after["stations"]] == ["build", "build-2", "ship"]
    assert after["stations"][0] == before["stations"][0]
    assert after["stations"][2] == before["stations"][1]
    places = after["extra"]["editor"]["positions"]
    assert places["build"] == [x, y]
    assert places["build-2"][0] == x
    assert places["build-2"][1] > y
    canvas.keyboard.press("Delete")
    expect(node(canvas, "build-2")).to_have_count(0)
    canvas.keyboard.press("Control+z")
    expect(node(canvas, "build-2")).to_be_visible()
    saved(canvas)
    assert draft(line) == after
    canvas.keyboard.press("Control+z")
    expect(node(canvas, "build-2")).to_have_count(0)
    saved(canvas)
    assert draft(line) == before


@pytest.mark.wide
def test_palette_and_settings_fold_to_icons_and_leave_the_canvas_its_room(canvas: Page) -> None:
    def width() -> float:
        box = canvas.locator(".ed-canvas").bounding_box()
        assert box
        return box["width"]

    assert width() >= 1000
    rail, last = canvas.locator(".ed-palette").bounding_box(), palette(canvas, "Note").bounding_box()
    assert rail and last
    assert last["y"] + last["height"] <= rail["y"] + rail["height"], "all of it is in view"
    canvas.keyboard.press("Shift+Alt+I")
    expect(canvas.locator(".ed-inspector")).to_have_count(0)
    assert width() >= 1240
    icons = canvas.locator(".ed-inspector-rail")
    names = ["Rules", "Settings", "Scenarios", "Comments"]
    assert icons.get_by_role("button").evaluate_all("all => all.map(each => each.title)") == names
    assert grave(canvas, ".ed-inspector-rail") == []
    icons.get_by_role("button", name="Settings").focus()
    canvas.keyboard.press("Enter")
    expect(canvas.get_by_role("tab", name="Settings")).to_have_attribute("aria-selected", "true")
    expect(canvas.get_by_role("tab", name="Settings")).to_be_focused()
    assert width() >= 1000
