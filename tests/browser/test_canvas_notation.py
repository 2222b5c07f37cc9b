"""What the canvas draws and what is done on it with the mouse: gates, forks, stubs, loops, notes; and that nothing of
it covers anything else."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from pipelines.lines.publishing import create_line
from pipelines.models import Line, User
from proof.bench.editor import line_of
from tests.browser.canvas import drag, middle, node, on_edge, saved, settled
from tests.factories import World
from tests.fixtures.site import Site
from tests.pages.conftest import at

Json = dict[str, Any]
Draw = Callable[[Json], tuple[Page, Line]]
SUCCESS, FAILURE = {"result": "success"}, {"result": "failure"}


def station(key: str, *rules: Json, **more: Any) -> Json:
    return {"key": key, "name": key.title(), "work": {"kind": "noop"}, "rules": list(rules), **more}


def rule(key: str, to: str | list[str], when: Json | None = None, **more: Any) -> Json:
    return {"id": key, "label": key, "to": to, **({"when": when} if when else {}), **more}


SMALL = {
    "gateline": 1,
    "key": "drawn",
    "name": "Drawn",
    "stations": [
        station("build", rule("good", "check", SUCCESS), rule("bad", "failed", FAILURE)),
        station("check", rule("again", "build", FAILURE), rule("on", "ship", SUCCESS)),
        station("ship"),
    ],
}
TANGLED = {
    "gateline": 1,
    "key": "drawn",
    "name": "Tangled",
    "stations": [
        station("write", rule("redo", "write", FAILURE, max_retries=3), rule("fork", ["qa", "law"], SUCCESS)),
        station(
            "qa", rule("fine", "merge", SUCCESS, gates=["look", "board"]), rule("ask", "@blocked", FAILURE)
        ),
        station(
            "law",
            rule("legal", "merge", SUCCESS, gates=["look"]),
            rule("back", "@origin", FAILURE),
            gate="auto",
        ),
        station(
            "merge",
            rule("ready", "ship", SUCCESS),
            rule("rewrite", "write", FAILURE),
            join={"wait_for": ["qa", "law"], "aggregation": "all-pass"},
        ),
        station(
            "ship", rule("sent", "sent", SUCCESS), rule("lost", "failed", FAILURE), rule("late", "write")
        ),
    ],
    "gates": [
        {"key": "look", "name": "A look"},
        {"key": "board", "name": "The board"},
        {
            "key": "auto",
            "mode": "auto",
            "checks": {"all": [{"field": "exit_code", "operator": "equals", "value": 0}]},
        },
    ],
    "ends": [{"key": "sent", "kind": "completed", "label": "SENT"}],
}


@pytest.fixture
def draw(world: World, page: Page, site: Site, sign_in: Callable[[Page, User], None]) -> Draw:
    """The canvas of a fresh line with this document, opened by its admin."""

    def opened(document: Json) -> tuple[Page, Line]:
        line = create_line(world.project, "drawn", "Drawn", document, world.admin)
        sign_in(page, world.admin)
        page.goto(at(world, "line-draw", "drawn"))
        expect(page.locator(".ed-station").first).to_be_visible()
        return page, line

    return opened


def stations_of(line: Line) -> dict[str, Json]:
    line.refresh_from_db()
    return {each["key"]: each for each in line.draft["stations"]}


def rule_of(line: Line, station: str, key: str) -> Json:
    return next(each for each in stations_of(line)[station]["rules"] if each["id"] == key)


def test_the_search_of_a_folded_palette_is_seen_whole(draw: Draw) -> None:
    page, _line = draw(SMALL)
    page.set_viewport_size({"width": 1360, "height": 860})
    page.reload()
    palette, search = page.locator(".ed-palette[data-rail]"), page.locator("#ed-search")
    outer, inner = palette.bounding_box(), search.bounding_box()
    assert outer and inner
    assert outer["x"] < inner["x"] and inner["x"] + inner["width"] < outer["x"] + outer["width"]
    search.focus()
    page.keyboard.type("Per")
    expect(palette.get_by_role("button", name="Person", exact=True)).to_be_visible()
    expect(palette.get_by_role("button", name="Command")).to_have_count(0)


@pytest.mark.wide
def test_gates_are_dragged_from_the_palette_onto_an_edge_and_a_station(draw: Draw) -> None:
    page, line = draw(SMALL)
    palette = page.locator(".ed-palette")
    settled(page)
    drag(page, middle(palette.get_by_role("button", name="Person", exact=True)), on_edge(page, "good"))
    expect(page.get_by_role("button", name="Gate on the edge: Person")).to_be_visible()
    palette.get_by_role("button", name="Checks", exact=True).drag_to(node(page, "ship"))
    expect(node(page, "ship").locator(".ed-bar")).to_have_count(1)
    saved(page)
    assert rule_of(line, "build", "good")["gates"] == ["person"]
    assert stations_of(line)["ship"]["gate"] == "checks"
    assert [gate["mode"] for gate in line.draft["gates"]] == ["manual", "auto"]
    # A second one on the same edge stacks, chosen by a click on the edge and Enter in the palette.
    settled(page)
    page.mouse.click(*on_edge(page, "good"))
    palette.get_by_role("button", name="Checks + person").press("Enter")
    expect(page.locator(".ed-gate-count")).to_have_text("2")
    for _ in range(3):
        page.locator(".ed-canvas").press("Control+z")
    saved(page)
    assert line.draft["stations"] != SMALL["stations"]
    line.refresh_from_db()
    assert line.draft["stations"] == SMALL["stations"]


@pytest.mark.wide
def test_a_rule_forks_by_dragging_its_number_and_loses_a_branch_by_dragging_it_off(draw: Draw) -> None:
    page, line = draw(SMALL)
    fork = page.locator('.ed-way[data-rule="good"] .ed-fork')
    settled(page)
    drag(page, middle(page.locator('[data-port="good"]')), middle(node(page, "ship")))
    expect(fork).to_have_count(1)
    saved(page)
    assert rule_of(line, "build", "good")["to"] == ["check", "ship"]
    page.locator('[data-port="good"]').click()
    grip = page.locator('.ed-way[data-rule="good"] [data-grip="check"]')
    settled(page)
    x, y = middle(grip)
    canvas = page.locator(".ed-canvas").bounding_box()
    assert canvas
    drag(page, (x, y), (x, canvas["y"] + canvas["height"] - 30))
    expect(fork).to_have_count(0)
    saved(page)
    assert rule_of(line, "build", "good")["to"] == "ship"
    page.locator(".ed-canvas").press("Control+z")
    expect(fork).to_have_count(1)
    saved(page)
    assert rule_of(line, "build", "good")["to"] == ["check", "ship"]


@pytest.mark.wide
def test_a_station_with_no_way_out_says_where_it_goes_and_leads_on_by_keyboard(draw: Draw) -> None:
    page, line = draw(SMALL)
    plus = node(page, "ship").get_by_role(
        "button", name="Add a rule to Ship. Now: No rule matched → the task is completed"
    )
    expect(page.locator('.ed-stub[data-edge="ship@onward>completed"]')).to_be_visible()
    plus.focus()
    page.keyboard.press("Enter")
    page.get_by_role("dialog", name="Connect Ship to").get_by_role("combobox").fill("build")
    page.keyboard.press("Enter")
    saved(page)
    assert [each["to"] for each in stations_of(line)["ship"]["rules"]] == ["build"]
    expect(plus).to_have_count(0)


@pytest.mark.wide
def test_a_loop_without_a_budget_says_so_and_a_station_how_often_it_is_entered(draw: Draw) -> None:
    page, _line = draw(SMALL)
    expect(page.locator('.ed-endless[data-rule="again"]')).to_have_text("No limit")
    node(page, "check").hover()
    expect(node(page, "check").locator(".ed-visits")).to_be_visible()
    expect(node(page, "check").locator(".ed-visits")).to_contain_text("100")
    expect(node(page, "ship").locator(".ed-visits")).to_be_hidden()


@pytest.mark.wide
def test_a_note_is_written_coloured_moved_copied_and_deleted(draw: Draw) -> None:
    page, line = draw(SMALL)
    page.locator(".ed-canvas").press("Shift+Alt+N")
    page.get_by_role("textbox", name="Note").fill("Ask Ada first")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Green").click()
    note = page.locator(".react-flow__node-note")
    note.press("Alt+ArrowRight")
    saved(page)
    line.refresh_from_db()
    (kept,) = line.draft["extra"]["editor"]["notes"]
    assert (kept["text"], kept["tone"]) == ("Ask Ada first", "ok")
    note.press("Control+d")
    expect(note).to_have_count(2)
    page.locator(".react-flow__node-note.selected").press("Delete")
    expect(note).to_have_count(1)
    saved(page)
    line.refresh_from_db()
    assert line.draft["extra"]["editor"]["notes"] == [kept]
    assert line.draft["stations"] == SMALL["stations"]


THROUGH = """() => {
  const boxes = [...document.querySelectorAll('.react-flow__node-station, .react-flow__node-end')].map(
    (each) => [each.dataset.id, each.getBoundingClientRect()]);
  const found = [];
  for (const path of document.querySelectorAll('.ed-way > .ed-edge')) {
    const matrix = path.getScreenCTM();
    for (let at = 0; at < path.getTotalLength(); at += 4) {
      const { x, y } = path.getPointAtLength(at).matrixTransform(matrix);
      for (const [key, box] of boxes)
        if (x > box.left + 3 && x < box.right - 3 && y > box.top + 3 && y < box.bottom - 3)
          found.push(path.parentElement.dataset.rule + ' through ' + key);
    }
  }
  return [...new Set(found)];
}"""
PARTS = ".ed-station, .ed-end, .ed-words, .ed-hexagon, .ed-gate-name, .ed-stub, .ed-endless, .ed-join-words, .ed-start"


@pytest.mark.wide
def test_nothing_of_a_tangled_line_covers_anything_else(draw: Draw) -> None:
    page, _line = draw(TANGLED)
    expect(page.locator(".ed-endless").first).to_be_visible()
    page.keyboard.press("0")
    assert page.evaluate(THROUGH) == []
    parts = [(part, part.bounding_box()) for part in page.locator(PARTS).all()]
    assert len(parts) > 20
    overlapping = [
        f"{one.inner_text()} and {other.inner_text()}"
        for (one, a), (other, b) in combinations(parts, 2)
        if a and b and meet(a, b)
    ]
    assert overlapping == []


def meet(a: Any, b: Any) -> bool:
    slack = 1
    across = a["x"] + slack < b["x"] + b["width"] and b["x"] + slack < a["x"] + a["width"]
    return across and a["y"] + slack < b["y"] + b["height"] and b["y"] + slack < a["y"] + a["height"]


@pytest.mark.wide
def test_three_hundred_stations_stand_in_rows_with_names_that_can_be_read(draw: Draw) -> None:
    page, _line = draw(line_of(300))
    names = page.locator(".ed-name")
    expect(names).to_have_count(300)
    # First the cards alone; then the layout, whole in view like them.
    settled(page)
    expect(page.locator(".ed-way").first).to_be_attached()
    expect(names).to_have_count(300)
    rows = {round(each["y"]) for each in page.evaluate(PLACES)}
    assert len(rows) > 8
    assert min(each["size"] for each in page.evaluate(PLACES)) >= 6
    expect(page.locator(".ed-row").first).to_contain_text("Station 0 to Station")


PLACES = """() => {
  const zoom = new DOMMatrix(getComputedStyle(document.querySelector('.react-flow__viewport')).transform).a;
  return [...document.querySelectorAll('.ed-name')].map((each) => ({
    y: each.closest('.react-flow__node').getBoundingClientRect().top,
    size: parseFloat(getComputedStyle(each).fontSize) * zoom,
  }));
}"""
