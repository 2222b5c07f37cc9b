"""The drawer below the canvas: problems by cause beside the guarantees of the line, by pointer and by keyboard."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from pipelines.lines.publishing import create_line
from pipelines.models import Line
from tests.axe import grave
from tests.browser.canvas import draft, saved
from tests.browser.conftest import Enter
from tests.factories import World, document, station
from tests.fixtures.browser import PHONE

ALL: dict[str, Any] = {"id": "all", "to": "ship", "gates": ["look"]}
LATE: dict[str, Any] = {"id": "late", "when": {"result": "failure"}, "to": "failed"}
GUARANTEES = [
    {"id": "looked", "never": {"reach": "ship", "without": "look"}},
    {"id": "again", "never": {"reach": "ship", "without": "second"}},
]


@pytest.fixture
def line(world: World) -> Line:
    stations = [
        station("build", ALL, LATE, name="Build"),
        station("ship", {"id": "on", "to": "completed"}, name="Ship"),
    ]
    gates = [{"key": "look", "name": "Look"}, {"key": "second", "name": "Second"}]
    drawn = document(stations, key="drawn", gates=gates, guarantees=GUARANTEES)
    return create_line(world.project, "drawn", "Drawn", drawn, world.admin)


@pytest.mark.wide
def test_problems_stand_by_cause_beside_the_guarantees(line: Line, enter_canvas: Enter) -> None:
    page = enter_canvas(line)
    problems = page.get_by_role("region", name="Problems")
    promises = page.get_by_role("region", name="Guarantees")
    dead = problems.get_by_role("list", name="Rule that never matches").get_by_role("listitem")
    expect(dead).to_have_attribute("data-check", "dead-rule")
    expect(dead.locator("strong")).to_have_text("Rule 2 of Build never matches")
    expect(promises.locator('[data-answer="proved"]')).to_contain_text("Nothing reaches Ship without Look")
    left, right = problems.bounding_box(), promises.bounding_box()
    assert left
    assert right
    assert right["y"] == left["y"]
    assert right["x"] >= left["x"] + left["width"]
    assert grave(page, ".ed-drawer") == []


@pytest.mark.wide
def test_each_link_of_the_drawer_says_what_it_is_about(line: Line, enter_canvas: Enter) -> None:
    page = enter_canvas(line)
    expect(page.locator(".ed-promise").first).to_be_visible()
    page.locator(".ed-problem-more").evaluate_all("all => all.forEach(each => { each.open = true })")
    names = page.locator(".ed-drawer .ed-drawer-link, .ed-problem-more :is(a, summary)").all_inner_texts()
    assert len(names) >= 4
    assert len(set(names)) == len(names)


@pytest.mark.wide
def test_a_refuted_guarantee_shows_its_path_from_the_keyboard(line: Line, enter_canvas: Enter) -> None:
    page = enter_canvas(line)
    refuted = page.locator('.ed-promise[data-answer="refuted"]')
    expect(refuted).to_contain_text("Refuted")
    refuted.get_by_role("button", name="Show the path").focus()
    page.keyboard.press("Enter")
    taken = page.locator('.ed-canvas [data-mark="taken"]')
    expect(taken.first).to_be_attached()
    page.keyboard.press("Enter")
    expect(taken).to_have_count(0)


@pytest.mark.wide
def test_a_guarantee_leads_to_where_it_is_written(line: Line, enter_canvas: Enter) -> None:
    page = enter_canvas(line)
    page.get_by_role("button", name="Nothing reaches Ship without Look", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.locator(".ed-inspector summary:focus")).to_have_text("Guarantees")
    expect(page.locator('.ed-inspector [data-list="guarantees"]')).to_be_visible()


@pytest.mark.wide
def test_a_fix_of_the_drawer_is_one_key(line: Line, enter_canvas: Enter) -> None:
    page = enter_canvas(line)
    fix = page.get_by_role("button", name=re.compile("Fix: move above 1.*Rule 2 of Build"))
    fix.focus()
    page.keyboard.press("Enter")
    expect(page.locator('.ed-problem[data-check="dead-rule"]')).to_have_count(0)
    expect(page.locator(".ed-problems :focus, .ed-canvas :focus")).to_have_count(1)


@pytest.mark.wide
def test_guarantees_fold_by_themselves_below_the_problems_of_a_phone(line: Line, enter_canvas: Enter) -> None:
    page: Page = enter_canvas(line)
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    fold = page.get_by_role("button", name="Guarantees 2")
    expect(fold).to_have_attribute("aria-expanded", "false")
    fold.click()
    expect(page.locator('.ed-promise[data-answer="refuted"]')).to_be_visible()
    expect(page.locator('.ed-problem[data-check="dead-rule"]')).to_be_visible()
    assert grave(page, ".ed-drawer") == []


def rejecting(world: World) -> Line:
    """What is rejected goes to repair and from there to ship, which the guarantee forbids."""
    success, failure = {"result": "success"}, {"result": "failure"}
    stations = [
        station("build", {"id": "on", "when": success, "to": "ship", "gates": ["look"]},
                {"id": "bad", "when": failure, "to": "repair"}, name="Build"),
        station("repair", {"id": "repaired", "to": "ship"}, name="Repair"),
        station("ship", {"id": "out", "to": "completed"}, name="Ship"),
    ]  # fmt: skip
    look = {"key": "look", "name": "Look", "offers": ["approve", "reject"], "on_reject": "route:repair"}
    promised = {"id": "not-shipped", "never": {"reach": "ship"}, "after": {"gate": "look", "word": "reject"}}
    drawn = document(stations, key="rejecting", gates=[look], guarantees=[promised])
    return create_line(world.project, "rejecting", "Rejecting", drawn, world.admin)


@pytest.mark.wide
def test_ending_the_task_fixes_a_refuted_guarantee_and_undo_takes_it_back(
    world: World, enter_canvas: Enter
) -> None:
    line = rejecting(world)
    page = enter_canvas(line)
    before = draft(line)
    promise = page.locator(".ed-promise")
    expect(promise).to_have_attribute("data-answer", "refuted")
    page.get_by_role("button", name=re.compile("^Fix: end the task")).click()
    expect(promise).to_have_attribute("data-answer", "proved")
    expect(promise).to_contain_text("Proved")
    expect(page.locator('.ed-problem[data-check="broken-guarantee"]')).to_have_count(0)
    saved(page)
    after = draft(line)
    assert after["gates"] == [{**before["gates"][0], "on_reject": "fail"}]
    assert {**after, "gates": before["gates"]} == before
    page.keyboard.press("Control+z")
    expect(promise).to_have_attribute("data-answer", "refuted")
    saved(page)
    assert draft(line) == before
