"""Several stations chosen: fields of all of them at once, a heading over them, moved and deleted together."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from pipelines.lines.publishing import create_line
from pipelines.models import Line
from tests.axe import grave
from tests.browser.canvas import draft, middle, node, saved
from tests.browser.conftest import Enter
from tests.factories import World, document, station

DOCUMENT = document(
    key="drawn",
    stations=[
        station("plan", {"id": "planned", "to": "build"}, name="Plan", limits={"max_timeout": "1h"}),
        station("build", {"id": "built", "to": "ship"}, name="Build", limits={"max_visits": 4}),
        station("ship", {"id": "done", "to": "completed"}, name="Ship"),
    ],
)


@pytest.fixture
def line(world: World) -> Line:
    return create_line(world.project, "drawn", "Drawn", DOCUMENT, world.admin)


@pytest.fixture
def canvas(line: Line, enter_canvas: Enter) -> Page:
    page = enter_canvas(line)
    node(page, "plan").click()
    node(page, "build").click(modifiers=["Control"])
    expect(page.locator(".ed-inspector-head")).to_contain_text("2 selected")
    return page


def test_a_field_is_set_at_each_of_the_selected(canvas: Page, line: Line) -> None:
    inspector = canvas.locator(".ed-inspector")
    most = inspector.get_by_label("Most runs per task")
    expect(most).to_have_value("")
    most.fill("none")
    most.press("Enter")
    expect(inspector.locator(".field-error")).to_be_visible()
    assert not grave(canvas)
    most.fill("3")
    most.press("Enter")
    saved(canvas)
    plan, build, ship = draft(line)["stations"]
    assert plan["limits"] == {"max_timeout": "1h", "max_visits": 3}
    assert build["limits"] == {"max_visits": 3}
    assert "limits" not in ship
    expect(most).to_have_value("3")
    canvas.keyboard.press("Escape")
    canvas.keyboard.press("Control+z")
    saved(canvas)
    assert draft(line)["stations"][1]["limits"] == {"max_visits": 4}


@pytest.mark.wide
def test_a_heading_stands_over_what_it_groups_and_moves_it(canvas: Page, line: Line) -> None:
    canvas.keyboard.press("Shift+Alt+G")
    canvas.keyboard.type("Before release")
    canvas.keyboard.press("Escape")
    heading = canvas.locator("[data-heading] .ed-note-text")
    expect(heading).to_have_text("Before release")
    saved(canvas)
    (note,) = draft(line)["extra"]["editor"]["notes"]
    assert note["over"] == ["plan", "build"]
    before = [middle(node(canvas, key)) for key in ("plan", "build", "ship")]
    x, y = middle(heading)
    canvas.mouse.move(x, y)
    canvas.mouse.down()
    canvas.mouse.move(x, y + 40, steps=3)
    canvas.mouse.move(x, y + 160, steps=6)
    canvas.mouse.up()
    saved(canvas)
    plan, build, ship = (middle(node(canvas, key)) for key in ("plan", "build", "ship"))
    moved = [plan[1] - before[0][1], build[1] - before[1][1]]
    assert moved[0] == moved[1] > 100
    assert ship == before[2]


@pytest.mark.wide
def test_what_is_selected_is_deleted_together(canvas: Page, line: Line) -> None:
    canvas.get_by_role("button", name="Delete 2 parts").click()
    expect(canvas.locator(".ed-station")).to_have_count(1)
    saved(canvas)
    assert [each["key"] for each in draft(line)["stations"]] == ["ship"]
