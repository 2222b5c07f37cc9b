"""A fork with a join, a loop with a budget and a station gate with a group of checks, drawn in a real browser: what
keeps them from working is found and put right, then a task runs through them by the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from pipelines.lines.publishing import create_line
from pipelines.models import Line
from tests.browser.canvas import drag, middle, node, saved, settled
from tests.browser.conftest import Enter
from tests.factories import World, document, station
from tests.pages.conftest import at
from tests.waiting import until

DOCUMENT = document(
    key="drawn",
    stations=[
        station("plan", {"id": "go", "to": "qa"}, name="Plan"),
        station("qa", {"id": "tested", "to": "release"}, name="Quality"),
        station("security", {"id": "secured", "to": "release"}, name="Security"),
        station("release", {"id": "out", "to": "completed"}, name="Release"),
    ],
)


@pytest.fixture
def line(world: World) -> Line:
    return create_line(world.project, "drawn", "Drawn", DOCUMENT, world.admin)


@pytest.fixture
def canvas(line: Line, enter_canvas: Enter) -> Page:
    return enter_canvas(line)


def problem(page: Page, check: str) -> Locator:
    return page.locator(f'.ed-problem[data-check="{check}"]')


@pytest.mark.wide
def test_a_fork_with_a_join_is_drawn_put_right_and_run(canvas: Page, world: World, line: Line) -> None:
    _fork(canvas)
    form = _join(canvas)
    unfillable = problem(canvas, "unfillable-join")
    expect(unfillable).to_contain_text("waits for Plan, which never leads to Release")
    _forbid(canvas)
    parallel = problem(canvas, "forbidden-parallel")
    expect(parallel).to_contain_text("Quality and Security can run in parallel")

    canvas.locator(".ef-form").get_by_role("button", name="Delete Quality ∥ Security").click()
    expect(parallel).to_have_count(0)
    node(canvas, "release").locator(".ed-bar-name").click()
    form.locator("summary", has_text="Gate and join").click()
    form.get_by_label("Plan", exact=True).uncheck()
    form.get_by_label("Security", exact=True).check()
    expect(unfillable).to_have_count(0)
    expect(node(canvas, "release")).to_contain_text("all pass")
    saved(canvas)
    line.refresh_from_db()
    assert line.draft["stations"][0]["rules"][0]["to"] == ["qa", "security"]
    assert line.draft["stations"][3]["join"] == {"wait_for": ["qa", "security"]}
    _loop(canvas)
    _checks(canvas)
    tests = {"field": "output.tests", "operator": "greater_than", "value": 0, "action": "rework"}
    stored(
        canvas,
        line,
        lambda draft: draft.get("gates", [{}])[0].get("checks", {}).get("all", [])[1:] == [{"any": [tests]}],
    )
    back, _ = line.draft["stations"][1]["rules"]
    assert (back["when"], back["to"], back["max_retries"]) == ({"result": "failure"}, "qa", 3)
    [gate] = line.draft["gates"]
    assert line.draft["stations"][3]["gate"] == gate["key"]
    _run(canvas, world, line)


def stored(page: Page, line: Line, right: Callable[[dict[str, Any]], bool]) -> None:
    """Until what was filled in is part of the draft: a form is applied and saved behind whoever fills it."""

    def is_there() -> bool:
        line.refresh_from_db()
        return right(line.draft)

    until(is_there, lambda: str(line.draft), page)


def _loop(page: Page) -> None:
    """From the number for a new rule to the station itself; drawn last, so it has to be moved up."""
    node(page, "qa").click()
    page.get_by_role("tab", name="Rules").click()
    settled(page)
    drag(page, middle(node(page, "qa").locator('[data-port="@new"]')), middle(node(page, "qa")))
    inspector = page.locator(".ed-inspector")
    rules = inspector.locator(".ed-rule[data-rule]")
    expect(rules).to_have_count(2)
    rules.nth(1).locator(".ed-rule-head").click()
    inspector.get_by_label("Condition", exact=True).select_option("result")
    inspector.get_by_label("failure", exact=True).check()
    inspector.get_by_label("success", exact=True).uncheck()
    expect(rules.nth(1)).to_contain_text("For example {result: failure}")
    inspector.get_by_role("button", name="Move above 1, at most 3 times").click()
    expect(rules.first).to_contain_text("result is failure")


def _checks(page: Page) -> None:
    """A gate that is dropped on a station is the station's. Beside its first check a group that asks for rework."""
    checks = page.locator(".ed-palette").get_by_role("button", name="Checks", exact=True)
    settled(page)
    drag(page, middle(checks), middle(node(page, "release")))
    form = page.locator(".ef-form")
    form.get_by_role("button", name="Add a group").click()
    add = form.get_by_role("button", name="Add a check")
    expect(add).to_have_count(2)
    add.first.click()
    form.get_by_label("Field", exact=True).last.fill("output.tests")
    form.get_by_label("Operator", exact=True).last.select_option("greater_than")
    form.get_by_label("Value", exact=True).last.fill("0")
    form.get_by_label("If it fails", exact=True).last.select_option("rework")
    form.get_by_label("If it fails", exact=True).last.press("Tab")


def _fork(page: Page) -> None:
    """By dragging the number of the rule onto a second station."""
    settled(page)
    drag(page, middle(page.locator('[data-port="go"]')), middle(node(page, "security")))
    expect(page.locator('.ed-way[data-rule="go"] .ed-fork')).to_have_count(1)


def _join(page: Page) -> Locator:
    node(page, "release").click()
    page.get_by_role("tab", name="Configure").click()
    form = page.locator(".ef-form")
    form.locator("summary", has_text="Gate and join").click()
    form.get_by_label("Quality", exact=True).check()
    form.get_by_label("Plan", exact=True).check()
    return form


def _forbid(page: Page) -> None:
    page.locator(".ed-canvas").press("Shift+L")
    form = page.locator(".ef-form")
    form.locator("summary", has_text="In parallel").click()
    form.get_by_role("button", name="Add a pair").click()
    form.get_by_label("While this station runs", exact=True).select_option("qa")
    form.get_by_label("this one cannot run", exact=True).select_option("security")


def _run(page: Page, world: World, line: Line) -> None:
    page.goto(at(world, "line-publish", "drawn"))
    publish = page.locator("#publish-go").get_by_role("button", name="Publish")
    expect(publish).to_be_enabled()  # the findings have come, and with them what is to be ticked
    for box in page.get_by_role("checkbox").all():
        box.check()
    publish.click()
    expect(page.get_by_text("Version 1 is live").first).to_be_visible()
    line.refresh_from_db()
    assert line.live is not None
    task = world.start(line.live)
    world.report(task, station="plan")
    world.report(task, {"result": "failure"}, station="qa")
    world.report(task, station="qa")
    page.goto(at(world, "task", task.name))
    expect(page.get_by_text("Waits for Security.")).to_be_visible()
    world.report(task, station="security")
    page.reload()
    expect(page.get_by_text("Quality passed, Security passed")).to_be_visible()
    world.report(task, {"exit_code": 0, "output": {"tests": 12}}, station="release")
    assert world.status(task) == "completed"


MET = document(
    key="drawn",
    stations=[
        station("plan", {"id": "go", "to": ["qa", "security"]}, name="Plan"),
        station("qa", {"id": "tested", "to": "release"}, name="Quality"),
        station("security", {"id": "secured", "to": "release"}, name="Security"),
        station("release", {"id": "out", "to": "completed"}, name="Release"),
        station("repair", {"id": "repaired", "to": "qa"}, name="Repair", stage="qa"),
    ],
)


@pytest.mark.wide
def test_branches_wait_for_both_and_rework_stands_above_its_stage_by_a_click(
    world: World, enter_canvas: Enter
) -> None:
    line = create_line(world.project, "drawn", "Drawn", MET, world.admin)
    canvas = enter_canvas(line)
    met = problem(canvas, "unjoined-fork")
    expect(met).to_contain_text("meet at Release")
    met.get_by_role("button", name="Wait for both").click()
    expect(met).to_have_count(0)
    below = problem(canvas, "rework-below")
    canvas.get_by_text("1 more of the same cause").click()
    expect(below).to_contain_text("stands below it")
    below.get_by_role("button", name="Move above Quality").click()
    expect(below).to_have_count(0)
    saved(canvas)
    line.refresh_from_db()
    assert [each["key"] for each in line.draft["stations"]] == ["plan", "repair", "qa", "security", "release"]
    assert line.draft["stations"][4]["join"] == {"wait_for": ["qa", "security"]}


@pytest.mark.wide
def test_a_join_that_waits_for_a_deleted_station_waits_for_both(world: World, enter_canvas: Enter) -> None:
    stations = [dict(each) for each in MET["stations"][:4]]
    stations[3]["join"] = {"wait_for": ["qa", "gone"], "aggregation": "any-pass"}
    line = create_line(world.project, "drawn", "Drawn", {**MET, "stations": stations}, world.admin)
    canvas = enter_canvas(line)
    gone = problem(canvas, "not-publishable")
    expect(gone).to_contain_text("“Joins the branches from” cannot be “gone”: the line has no such station")
    gone.get_by_role("button", name="Wait for both").click()
    expect(gone).to_have_count(0)
    saved(canvas)
    line.refresh_from_db()
    assert line.draft["stations"][3]["join"] == {"wait_for": ["qa", "security"], "aggregation": "any-pass"}


@pytest.mark.wide
def test_a_station_that_only_joins_is_a_bar_at_every_zoom(world: World, enter_canvas: Enter) -> None:
    stations = [dict(each) for each in MET["stations"]]
    stations[3]["join"] = {"wait_for": ["qa", "security"]}
    line = create_line(world.project, "drawn", "Drawn", {**MET, "stations": stations}, world.admin)
    canvas = enter_canvas(line)
    bar, card = node(canvas, "release").locator(".ed-station-bar"), node(canvas, "qa").locator(".ed-station")
    expect(bar).to_be_visible()
    for level in ("near", "middle", "far"):
        while canvas.locator(f".ed-level-{level}").count() == 0:
            canvas.get_by_role("button", name="Zoom out").click()
        wide, whole = bar.bounding_box(), card.bounding_box()
        assert wide
        assert whole
        assert wide["width"] * 10 < whole["width"], level
