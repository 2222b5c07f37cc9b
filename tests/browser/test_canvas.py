"""Drawing a line on the canvas in a real browser: by keyboard, by mouse, undone, saved, and kept while the server is
away."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from pipelines.lines.publishing import create_line
from pipelines.models import Line
from tests.browser.canvas import draft, saved
from tests.browser.conftest import Enter
from tests.factories import World

DOCUMENT = {
    "gateline": 1,
    "key": "drawn",
    "name": "Drawn",
    "stations": [
        {
            "key": "build",
            "name": "Build",
            "work": {"kind": "noop"},
            "rules": [
                {"id": "all", "to": "completed"},
                {"id": "broken", "label": "Broken", "when": {"result": "failure"}, "to": "failed"},
            ],
        }
    ],
}


@pytest.fixture
def line(world: World) -> Line:
    return create_line(world.project, "drawn", "Drawn", DOCUMENT, world.admin)


@pytest.fixture
def canvas(line: Line, enter_canvas: Enter) -> Page:
    return enter_canvas(line)


def test_a_station_is_added_and_connected_by_keyboard_alone_and_saves_itself(
    canvas: Page, line: Line
) -> None:
    canvas.locator("#ed-search").fill("manual")
    canvas.keyboard.press("Enter")
    expect(canvas.locator(".ed-station")).to_have_count(2)
    expect(canvas.locator("#ed-name")).to_be_focused()
    canvas.locator('.react-flow__node[data-id="manual"]').focus()
    canvas.keyboard.press("l")
    dialog = canvas.get_by_role("dialog", name="Connect Manual to")
    dialog.get_by_role("combobox").fill("build")
    canvas.keyboard.press("Enter")
    saved(canvas)
    added = draft(line)["stations"][1]
    assert added["key"] == "manual"
    assert [rule["to"] for rule in added["rules"]] == ["build"]


@pytest.mark.wide
def test_undo_and_redo_give_back_the_very_same_document(canvas: Page, line: Line) -> None:
    before = draft(line)
    canvas.locator('.react-flow__node[data-id="build"]').click()
    canvas.locator('.react-flow__node[data-id="build"]').press("Delete")
    expect(canvas.locator(".ed-station")).to_have_count(0)
    saved(canvas)
    assert draft(line)["stations"] == []
    canvas.keyboard.press("Control+z")
    saved(canvas)
    assert draft(line) == before
    canvas.keyboard.press("Control+Shift+z")
    saved(canvas)
    assert draft(line)["stations"] == []


@pytest.mark.wide
def test_leaving_the_name_untouched_after_undo_and_redo_renames_nothing(canvas: Page, line: Line) -> None:
    name = canvas.locator("#ed-name")
    canvas.locator('.react-flow__node[data-id="build"]').click()
    for number in range(25):
        name.fill(f"Build {number}")
        canvas.keyboard.press("Enter")
        expect(canvas.locator('.react-flow__node[data-id="build"]')).to_contain_text(f"Build {number}")
    for keys, shown in (("Control+z", "Build"), ("Control+Shift+z", "Build 24"), ("Control+z", "Build")):
        canvas.locator('.react-flow__node[data-id="build"]').focus()
        for _ in range(25):
            canvas.keyboard.press(keys)
        expect(name).to_have_value(shown)
        name.click()
        canvas.keyboard.press("Tab")
        expect(canvas.locator('.react-flow__node[data-id="build"] .ed-name')).to_have_text(shown)
    saved(canvas)
    assert draft(line) == DOCUMENT


@pytest.mark.wide
def test_a_dead_rule_says_so_and_is_alive_after_it_was_moved_up(canvas: Page, line: Line) -> None:
    canvas.locator('.react-flow__node[data-id="build"]').click()
    row = canvas.locator(".ed-rule").nth(1)
    expect(row).to_contain_text("Never matches")
    row.get_by_role("button", name="Move above 1").click()
    saved(canvas)
    assert [rule["id"] for rule in draft(line)["stations"][0]["rules"]] == ["broken", "all"]
    expect(canvas.locator(".ed-rule").first).to_contain_text("Live")
    expect(canvas.get_by_text("Never matches")).to_have_count(0)


@pytest.mark.wide
def test_a_station_that_is_dragged_stays_where_it_was_let_go(canvas: Page, line: Line) -> None:
    box = canvas.locator('.react-flow__node[data-id="build"]').bounding_box()
    assert box
    canvas.mouse.move(box["x"] + 40, box["y"] + 10)
    canvas.mouse.down()
    canvas.mouse.move(box["x"] + 140, box["y"] + 90, steps=5)
    canvas.mouse.up()
    saved(canvas)
    x, y = draft(line)["extra"]["editor"]["positions"]["build"]
    canvas.reload()
    expect(canvas.locator(".ed-station")).to_have_count(1)
    assert draft(line)["extra"]["editor"]["positions"] == {"build": [x, y]}


@pytest.mark.wide
def test_what_was_changed_while_the_server_was_away_is_saved_when_it_is_back(
    canvas: Page, line: Line
) -> None:
    canvas.context.set_offline(True)
    canvas.locator("#ed-search").fill("manual")
    canvas.keyboard.press("Enter")
    expect(canvas.get_by_role("alert")).to_contain_text("The server cannot be reached")
    canvas.context.set_offline(False)
    saved(canvas)
    assert [station["key"] for station in draft(line)["stations"]] == ["build", "manual"]


def somebody_saves(line: Line, **changed: object) -> None:
    stored = Line.objects.get(pk=line.pk)
    stored.draft = {**stored.draft, **changed}
    stored.draft_number += 1
    stored.save()


@pytest.mark.wide
def test_what_two_people_change_in_different_places_is_merged(canvas: Page, line: Line) -> None:
    somebody_saves(line, description="Theirs.")
    canvas.locator("#ed-search").fill("manual")
    canvas.keyboard.press("Enter")
    saved(canvas)
    merged = draft(line)
    assert merged["description"] == "Theirs."
    assert [station["key"] for station in merged["stations"]] == ["build", "manual"]


@pytest.mark.wide
def test_where_two_people_change_the_same_place_both_are_shown_and_one_is_chosen(
    canvas: Page, line: Line
) -> None:
    # At the same time: neither hears of the other's change before their own is made.
    canvas.context.set_offline(True)
    canvas.locator('.react-flow__node[data-id="build"]').click()
    canvas.locator("#ed-name").fill("Make")
    canvas.keyboard.press("Enter")
    theirs = [{**DOCUMENT["stations"][0], "name": "Compile"}]
    somebody_saves(line, stations=theirs, description="Theirs.")
    canvas.context.set_offline(False)
    clash = canvas.get_by_role("region", name="Changed by two people")
    place = clash.get_by_role("group", name="Station Compile › name")
    expect(place.get_by_role("radio", name="Compile")).not_to_be_checked()
    expect(clash.get_by_role("button", name="Save")).to_be_disabled()
    assert draft(line)["stations"] == theirs
    place.get_by_role("radio", name="Make").check()
    clash.get_by_role("button", name="Save").click()
    saved(canvas)
    assert draft(line)["stations"][0]["name"] == "Make"
    assert draft(line)["description"] == "Theirs."


@pytest.mark.wide
def test_a_viewer_sees_the_line_and_can_change_nothing(line: Line, world: World, enter_canvas: Enter) -> None:
    page = enter_canvas(line, world.viewer)
    expect(page.locator(".ed-palette")).to_have_count(0)
    page.locator('.react-flow__node[data-id="build"]').click()
    expect(page.get_by_role("complementary", name="Settings of Build")).to_be_visible()
    expect(page.get_by_role("button", name="Delete station")).to_have_count(0)
