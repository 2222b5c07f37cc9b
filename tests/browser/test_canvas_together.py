"""Two people at one canvas, each in a browser of their own: they see each other, and neither takes anything from the
other, whoever undoes, types or saves."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, Route, expect

from pipelines.lines.publishing import save_draft
from pipelines.models import Line
from tests.axe import grave, settle
from tests.browser.canvas import add_station, draft, node, rename_chosen, saved
from tests.browser.conftest import DRAWN, Open
from tests.factories import World


def names(line: Line) -> list[str]:
    return [station.get("name", station["key"]) for station in draft(line)["stations"]]


def is_accessible(page: Page) -> None:
    settle(page)
    assert grave(page) == []


@pytest.mark.wide
def test_each_sees_who_is_there_what_they_chose_and_when_they_leave(world: World, open_canvas: Open) -> None:
    one, other = open_canvas(world.admin), open_canvas(world.viewer)
    node(one, "build").click()
    tag = other.locator(".ed-tag", has_text=str(world.admin))
    expect(tag).to_be_visible()
    expect(other.locator(".ed-watching")).to_contain_text(str(world.admin))
    expect(one.get_by_role("button", name=f"{world.viewer} is watching")).to_be_visible()
    node(one, "ship").click()
    expect(other.get_by_role("button", name=f"{world.admin} is drawing: Ship")).to_be_enabled()
    one.close()
    expect(other.locator(".ed-avatar")).to_have_count(0)
    expect(tag).to_have_count(0)


@pytest.mark.wide
def test_what_the_other_saves_appears_and_no_undo_takes_it_back(
    world: World, drawn: Line, open_canvas: Open
) -> None:
    one, other = open_canvas(world.admin), open_canvas(world.designer)
    add_station(one)
    saved(one)
    expect(node(other, "manual")).to_be_visible()
    node(other, "build").click()
    rename_chosen(other, "Compile")
    saved(other)
    expect(one.locator(".ed-notice")).to_contain_text(f"{world.designer} changed Compile")
    expect(node(one, "build")).to_contain_text("Compile")

    one.locator(".ed-canvas").focus()
    one.keyboard.press("Control+z")
    saved(one)
    assert names(drawn) == ["Compile", "Ship"]
    assert draft(drawn)["stations"][0]["rules"] == DRAWN["stations"][0]["rules"]  # type: ignore[index]
    expect(one.get_by_role("button", name="Undo", exact=True)).to_be_disabled()
    one.keyboard.press("Control+Shift+z")
    saved(one)
    assert names(drawn) == ["Compile", "Ship", "Manual"]

    other.locator(".ed-canvas").focus()
    other.keyboard.press("Control+z")
    saved(other)
    assert names(drawn) == ["Build", "Ship", "Manual"]
    expect(node(one, "build")).to_contain_text("Build")


@pytest.mark.wide
def test_what_is_chosen_and_typed_stays_while_the_other_changes_the_same_station(
    world: World, drawn: Line, open_canvas: Open
) -> None:
    one, other = open_canvas(world.admin), open_canvas(world.designer)
    node(one, "build").click()
    one.locator("#ed-name").fill("Half a na")
    node(other, "build").click()
    rename_chosen(other, "Compile")
    saved(other)
    somebody_adds(drawn, world, "third")
    expect(node(one, "third")).to_be_visible()
    # Both changed the name, but only one of them has said so: nothing typed is thrown away, and nothing is overwritten.
    expect(one.locator("#ed-name")).to_be_focused()
    expect(one.get_by_role("complementary", name="Settings of Compile")).to_be_visible()
    expect(one.locator("#ed-name")).to_have_value("Half a na")


def somebody_adds(line: Line, world: World, key: str) -> None:
    line.refresh_from_db()
    stations = [*line.draft["stations"], {"key": key, "work": {"kind": "noop"}}]
    save_draft(line, {**line.draft, "stations": stations}, world.designer, line.draft_number)


def somebody_renames(line: Line, world: World, **renamed: str) -> None:
    line.refresh_from_db()
    stations = [{**each, "name": renamed.get(each["key"], each["name"])} for each in line.draft["stations"]]
    save_draft(line, {**line.draft, "stations": stations}, world.designer, line.draft_number)


@pytest.mark.wide
def test_each_clash_is_chosen_by_itself_and_a_third_save_asks_only_for_what_is_new(
    world: World, drawn: Line, open_canvas: Open
) -> None:
    page = open_canvas(world.admin)
    page.context.set_offline(True)
    node(page, "build").click()
    rename_chosen(page, "Make")
    node(page, "ship").click()
    rename_chosen(page, "Send")
    add_station(page)
    somebody_renames(drawn, world, build="Compile", ship="Deliver")
    page.context.set_offline(False)
    clash = page.get_by_role("region", name="Changed by two people")
    build = clash.get_by_role("group", name="Station Compile › name")
    expect(clash.get_by_role("group")).to_have_count(2)
    is_accessible(page)
    # By keyboard alone: from the canvas to the first radio, and with the arrows to the other side.
    build.get_by_role("radio", name=str(world.designer)).focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    expect(build.get_by_role("radio", name="Make")).to_be_checked()
    ship = clash.get_by_role("group", name="Station Deliver › name")
    ship.get_by_role("radio", name="Deliver").check()
    expect(clash.get_by_role("button", name="Save")).to_be_enabled()
    # A third save meanwhile: one of the two places is another, and one that is new to both is merged.
    somebody_renames(drawn, world, ship="Dispatch")
    somebody_adds(drawn, world, "third")
    clash.get_by_role("button", name="Save").click()
    saved(page)
    assert sorted(names(drawn)) == sorted(["Make", "Dispatch", "Manual", "third"])
    expect(clash).to_have_count(0)


@pytest.mark.wide
def test_a_place_that_is_changed_again_is_asked_again_and_the_other_choice_stays(
    world: World, drawn: Line, open_canvas: Open
) -> None:
    page = open_canvas(world.admin)
    page.context.set_offline(True)
    node(page, "build").click()
    rename_chosen(page, "Make")
    node(page, "ship").click()
    rename_chosen(page, "Send")
    somebody_renames(drawn, world, build="Compile", ship="Deliver")
    page.context.set_offline(False)
    clash = page.get_by_role("region", name="Changed by two people")
    clash.get_by_role("button", name="All mine").click()
    somebody_renames(drawn, world, ship="Dispatch")
    clash.get_by_role("button", name="Save").click()
    expect(clash.get_by_role("group")).to_have_count(1)
    place = clash.get_by_role("group", name="Station Dispatch › name")
    expect(place.get_by_role("radio", name="Dispatch")).not_to_be_checked()
    place.get_by_role("radio", name="Send").check()
    clash.get_by_role("button", name="Save").click()
    saved(page)
    assert names(drawn) == ["Make", "Send"]


@pytest.mark.wide
def test_a_comment_appears_at_the_others_screen_and_is_answered_and_resolved(
    world: World, drawn: Line, open_canvas: Open
) -> None:
    one, other = open_canvas(world.viewer), open_canvas(world.designer)
    node(one, "build").click()
    one.get_by_role("tab", name="Comments").click()
    one.get_by_label("Comment on Build").fill("Why <b>twice</b>?")
    one.keyboard.press("Control+Enter")
    badge = other.get_by_role("button", name="Comments: 1 on Build")
    badge.click()
    thread = other.get_by_role("tabpanel").get_by_role("article")
    expect(thread).to_contain_text("Why <b>twice</b>?")
    thread.get_by_role("button", name="Answer").click()
    thread.get_by_label("Answer").fill("Because.")
    thread.get_by_role("button", name="Answer").click()
    expect(one.get_by_role("article")).to_contain_text("Because.")
    is_accessible(other)
    one.get_by_role("button", name="Resolve").click()
    expect(badge).to_have_count(0)
    expect(other.get_by_text("1 resolved")).to_be_visible()
    # It is said of the line, not of a draft: deleting the station keeps it, and the line lists it.
    node(other, "build").focus()
    node(other, "build").press("Delete")
    saved(other)
    one.keyboard.press("Escape")
    expect(one.get_by_role("region", name="On deleted parts")).to_be_visible()
    assert "twice" not in json.dumps(draft(drawn))


COMMENTED = """\
gateline: 1
key: drawn
name: Drawn
stations:
  - key: build  # the first
    name: Build
    work: {kind: noop}
    rules: [{id: all, to: ship}]
  - key: ship
    name: Ship
    work: {kind: noop}
"""


def somebody_writes(line: Line, world: World, old: str, new: str) -> None:
    line.refresh_from_db()
    assert old in line.draft_text
    save_draft(line, line.draft_text.replace(old, new), world.designer, line.draft_number)


@pytest.mark.wide
def test_a_text_repaired_after_the_other_saved_keeps_what_they_saved(
    world: World, drawn: Line, open_canvas: Open
) -> None:
    save_draft(drawn, COMMENTED, world.admin, drawn.draft_number)
    page = open_canvas(world.admin)
    page.get_by_role("button", name="Both", exact=True).click()
    line = page.locator(".cm-line", has_text="name: Build")
    line.click()
    page.keyboard.press("End")
    page.keyboard.insert_text("\n    labels: [x")
    expect(page.get_by_role("alert")).to_contain_text("cannot be read")
    somebody_writes(drawn, world, "name: Ship", "name: Send  # by rail")
    expect(node(page, "ship")).to_contain_text("Send")
    page.locator(".cm-line", has_text="labels: [x").click()
    page.keyboard.press("End")
    page.keyboard.insert_text("]")
    expect(page.locator(".cm-content")).to_contain_text("# by rail")
    saved(page)
    assert names(drawn) == ["Build", "Send"]
    assert drawn.draft["stations"][0]["labels"] == ["x"]
    assert "# the first" in drawn.draft_text
    assert "name: Send  # by rail" in drawn.draft_text


@pytest.mark.wide
def test_what_is_typed_while_a_comment_is_on_its_way_stays(
    world: World, drawn: Line, open_canvas: Open
) -> None:
    page = open_canvas(world.admin)
    node(page, "build").click()
    page.get_by_role("tab", name="Comments").click()
    held: list[Route] = []
    page.route("**/comments", lambda r: held.append(r) if r.request.method == "POST" else r.continue_())
    field = page.get_by_label("Comment on Build")
    field.fill("The first.")
    with page.expect_request(lambda each: each.method == "POST" and each.url.endswith("/comments")):
        field.press("Control+Enter")
    page.keyboard.type(" The second.")
    expect(field).to_have_value("The first. The second.")
    held[0].continue_()
    expect(page.get_by_role("article")).to_contain_text("The first.")
    expect(field).to_have_value("The second.")
    page.reload()
    node(page, "build").click()
    page.get_by_role("tab", name="Comments").click()
    expect(page.get_by_label("Comment on Build")).to_have_value("The second.")


@pytest.mark.wide
def test_comments_that_both_wrote_at_once_are_in_every_text_after_it(
    world: World, drawn: Line, open_canvas: Open
) -> None:
    save_draft(drawn, COMMENTED, world.admin, drawn.draft_number)
    page = open_canvas(world.admin)
    page.context.set_offline(True)
    node(page, "build").click()
    rename_chosen(page, "Make")
    somebody_writes(drawn, world, "key: ship", "key: ship  # by rail")
    somebody_writes(drawn, world, "name: Ship", "name: Send")
    page.context.set_offline(False)
    saved(page)
    assert names(drawn) == ["Make", "Send"]
    assert "# the first" in drawn.draft_text
    assert "# by rail" in drawn.draft_text
    node(page, "build").click()
    rename_chosen(page, "Compile")
    saved(page)
    assert names(drawn) == ["Compile", "Send"]
    assert "# the first" in drawn.draft_text
    assert "# by rail" in drawn.draft_text


@pytest.mark.wide
def test_a_comment_that_the_other_added_meanwhile_stays(world: World, drawn: Line, open_canvas: Open) -> None:
    save_draft(drawn, COMMENTED, world.admin, drawn.draft_number)
    page = open_canvas(world.admin)
    page.context.set_offline(True)
    node(page, "build").click()
    rename_chosen(page, "Make")
    somebody_writes(drawn, world, "key: ship", "key: ship  # by rail")
    page.context.set_offline(False)
    saved(page)
    assert names(drawn) == ["Make", "Ship"]
    assert "# by rail" in drawn.draft_text
