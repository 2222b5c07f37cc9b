"""Rules on the canvas in a real browser: ordered by mouse and by keyboard, built from nothing, put right by what is
offered, and undone."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from pipelines.lines.publishing import create_line, save_draft
from pipelines.models import Line, User
from tests.axe import grave
from tests.browser.canvas import SAVING, node, saved
from tests.factories import World
from tests.fixtures.site import Site
from tests.pages.conftest import at
from tests.waiting import until

OK = {"result": "success"}
HIGH = {"output": {"path": "high", "op": "gt", "value": 0}}
DOCUMENT = {
    "gateline": 1,
    "key": "drawn",
    "name": "Drawn",
    "policy": {"no_match": "stuck"},
    "stations": [
        {
            "key": "build",
            "name": "Build",
            "work": {"kind": "noop"},
            "rules": [
                {"id": "ok", "when": OK, "to": "ship"},
                {"id": "high", "when": {"all": [HIGH, OK]}, "to": "fix"},
                {"id": "bad", "when": {"result": "failure"}, "to": "failed"},
            ],
        },
        {"key": "fix", "name": "Fix", "work": {"kind": "noop"}},
        {"key": "ship", "name": "Ship", "work": {"kind": "noop"}},
    ],
}


@pytest.fixture
def line(world: World) -> Line:
    return create_line(world.project, "drawn", "Drawn", DOCUMENT, world.admin)


@pytest.fixture
def rules(page: Page, site: Site, world: World, line: Line, sign_in: Callable[[Page, User], None]) -> Locator:
    """The rules of the station Build in the inspector."""
    sign_in(page, world.admin)
    page.goto(at(world, "line-draw", "drawn"))
    page.locator('.react-flow__node[data-id="build"]').click()
    page.get_by_role("tab", name="Rules").click()
    found = page.locator(".ed-rules")
    expect(found.locator("[data-rule]")).to_have_count(3)
    return found


def stored(line: Line) -> list[dict[str, Any]]:
    line.refresh_from_db()
    return line.draft["stations"][0]["rules"]


def ids(line: Line) -> list[str]:
    return [rule["id"] for rule in stored(line)]


def row(rules: Locator, rule: str) -> Locator:
    return rules.locator(f'[data-rule="{rule}"]')


def order(rules: Locator) -> list[str]:
    return rules.locator("[data-rule]").evaluate_all("rows => rows.map(row => row.dataset.rule)")


@pytest.mark.wide
def test_a_dead_rule_says_why_and_its_remedy_brings_it_to_life_and_tells_what_goes_elsewhere(
    rules: Locator, line: Line, page: Page
) -> None:
    dead = row(rules, "high")
    expect(dead).to_contain_text("Never matches")
    expect(dead).to_contain_text("rule 1 already takes everything")
    expect(dead).to_contain_text("{result: success, output: {high: 1}}")
    dead.get_by_role("button", name="Move above 1").click()
    saved(page)
    assert ids(line) == ["high", "ok", "bad"]
    expect(row(rules, "high")).to_contain_text("Live")
    note = rules.get_by_role("status")
    expect(note).to_contain_text("Routing changes")
    expect(note).to_contain_text("{result: success, output: {high: 1}}")
    expect(note).to_contain_text("went to Ship by rule 1")
    expect(note).to_contain_text("go to Fix by rule 1")
    note.get_by_role("button", name="Dismiss").click()
    expect(note).to_have_count(0)
    page.keyboard.press("Control+z")
    saved(page)
    assert stored(line) == DOCUMENT["stations"][0]["rules"]


@pytest.mark.wide
def test_a_rule_of_which_an_earlier_one_takes_a_part_bears_no_warning(
    rules: Locator, line: Line, page: Page, world: World
) -> None:
    draft = copy.deepcopy(DOCUMENT)
    draft["stations"][0]["rules"][1]["when"] = HIGH
    save_draft(line, draft, world.admin, line.draft_number)
    page.reload()
    node(page, "build").click()
    page.get_by_role("tab", name="Rules").click()
    high = row(rules, "high")
    expect(high).to_contain_text("Rule 1 takes a part of it.")
    expect(high.locator(".pill")).to_have_text("Partly shadowed")
    expect(high.locator(".pill")).to_have_class(re.compile(r"\bpill-neutral\b"))
    expect(row(rules, "ok").locator(".pill")).to_have_text("Live")
    ports = node(page, "build").locator(".ed-port:not(.ed-port-new)")
    expect(ports).to_have_text(["1", "2", "3"])
    expect(node(page, "build").locator(".ed-port[data-mark]")).to_have_count(0)


@pytest.mark.wide
def test_until_the_answer_is_there_the_problems_are_being_checked(rules: Locator, page: Page) -> None:
    held: list[Route] = []
    count = page.locator(".ed-problems .badge")
    # That nothing reaches Fix any more is of the same cause.
    expect(count).to_have_text("1")
    page.route(SAVING, lambda route: held.append(route), times=1)
    row(rules, "high").get_by_role("button", name="Move above 1").click()
    expect(count).to_have_text("Checking…")
    expect(page.get_by_role("button", name="Checking…", exact=True)).to_be_visible()
    until(lambda: held, "the request", page)
    held[0].continue_()
    expect(count).to_have_text("0")
    expect(page.get_by_role("button", name="No problems", exact=True)).to_be_visible()


@pytest.mark.wide
def test_routing_changes_go_with_a_station_that_they_tell_of(rules: Locator, page: Page) -> None:
    row(rules, "high").get_by_role("button", name="Move above 1").click()
    note = rules.get_by_role("status")
    expect(note).to_contain_text("go to Fix by rule 1")
    saved(page)
    node(page, "fix").click()
    page.keyboard.press("Delete")
    saved(page)
    node(page, "build").click()
    expect(rules.locator("[data-rule]")).to_have_count(2)
    expect(rules).not_to_contain_text("go to Fix")


@pytest.mark.wide
def test_what_no_rule_takes_is_shown_with_what_becomes_of_it_and_a_rule_is_made_for_it(
    rules: Locator, line: Line, page: Page
) -> None:
    gap = rules.get_by_role("group", name="No rule takes: that failed")
    expect(gap).to_contain_text("{result: cancelled}")
    expect(gap).to_contain_text("the policy ends the task: Failed")
    gap.get_by_role("button", name="Add a rule to the end").click()
    expect(gap).to_have_count(0)
    saved(page)
    assert stored(line)[-1]["to"] == "failed"


@pytest.mark.wide
def test_a_problem_names_its_page_leads_to_its_rule_and_is_put_right_from_the_drawer(
    rules: Locator, line: Line, page: Page
) -> None:
    problem = page.locator('.ed-problem[data-check="dead-rule"]')
    problem.locator(".ed-problem-more > summary").first.click()
    help_link = problem.get_by_role("link", name="Help: Rule that never matches")
    expect(help_link).to_have_attribute("href", "/help/dead-rule/")
    problem.locator(".ed-problem-words").click()
    expect(row(rules, "high").locator(".ed-rule-head")).to_have_attribute("aria-expanded", "true")
    problem.get_by_role("button", name="Delete").click()
    saved(page)
    assert ids(line) == ["ok", "bad"]
    expect(problem).to_have_count(0)


@pytest.mark.wide
def test_a_rule_is_dragged_by_its_handle_to_where_the_mark_shows(
    rules: Locator, line: Line, page: Page
) -> None:
    def lift() -> None:
        handle = row(rules, "bad").get_by_role("button", name="Move rule 3").bounding_box()
        first = row(rules, "ok").bounding_box()
        assert handle
        assert first
        page.mouse.move(handle["x"] + 4, handle["y"] + 4)
        page.mouse.down()
        page.mouse.move(handle["x"] + 4, first["y"] + 4, steps=4)
        expect(row(rules, "ok")).to_have_attribute("data-drop", "before")

    lift()
    page.keyboard.press("Escape")
    page.mouse.up()
    assert order(rules) == ["ok", "high", "bad"]
    lift()
    page.mouse.up()
    expect(rules.locator("[data-drop]")).to_have_count(0)
    assert order(rules) == ["bad", "ok", "high"]
    saved(page)
    assert ids(line) == ["bad", "ok", "high"]


@pytest.mark.wide
def test_a_rule_is_moved_and_its_condition_built_with_the_keyboard_alone(
    rules: Locator, line: Line, page: Page
) -> None:
    head = row(rules, "bad").locator(".ed-rule-head")
    head.focus()
    page.keyboard.press("Alt+ArrowUp")
    page.keyboard.press("Alt+ArrowUp")
    page.keyboard.press("Alt+ArrowDown")
    assert order(rules) == ["ok", "bad", "high"]
    expect(head).to_be_focused()
    page.keyboard.press("Enter")
    form = row(rules, "bad").locator("form")
    kind = form.get_by_label("Condition", exact=True).first
    expect(kind).to_have_value("result")
    kind.focus()
    kind.select_option("all")
    form.get_by_role("button", name="Output", exact=True).press("Enter")
    path = form.get_by_role("combobox", name="Path")
    path.fill("summary.coverage")
    page.keyboard.press("Tab")
    form.get_by_label("Comparison").select_option("lt")
    value = form.get_by_label("Value")
    value.fill("50")
    page.keyboard.press("Enter")
    expect(form.locator(".ef-words")).to_have_text("result is failure and summary.coverage is less than 50")
    saved(page)
    low = {"output": {"path": "summary.coverage", "op": "lt", "value": 50}}
    assert stored(line)[1] == {"id": "bad", "when": {"all": [{"result": "failure"}, low]}, "to": "failed"}
    form.get_by_role("button", name="Move summary.coverage is less than 50 up").press("Enter")
    expect(form.locator(".ef-words")).to_have_text("summary.coverage is less than 50 and result is failure")
    saved(page)
    assert stored(line)[1]["when"] == {"all": [low, {"result": "failure"}]}


@pytest.mark.wide
def test_a_condition_is_written_as_json_and_a_fault_in_it_is_told_with_its_place(
    rules: Locator, line: Line, page: Page
) -> None:
    row(rules, "bad").locator(".ed-rule-head").click()
    form = row(rules, "bad").locator("form")
    form.locator("summary", has_text="Condition as JSON").click()
    whole = form.get_by_label("The whole condition")
    whole.fill('{"any": [{"result": "failure"}, {"output": {"path": "a", "op": "gtt", "value": 1}}]}')
    page.keyboard.press("Control+Enter")
    expect(form).to_contain_text("At when.any[1].output.op: cannot be “gtt”")
    assert stored(line) == DOCUMENT["stations"][0]["rules"]
    right = {"any": [{"result": "failure"}, {"output": {"path": "a", "op": "gt", "value": 1}}]}
    whole.fill(json.dumps(right))
    page.keyboard.press("Control+Enter")
    expect(form.locator(".ef-words")).to_have_text("result is failure or a is greater than 1")
    saved(page)
    assert stored(line)[2]["when"] == right


@pytest.mark.wide
@pytest.mark.smoke(1)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_form_of_a_rule_can_be_used_by_everybody(rules: Locator, page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    row(rules, "high").locator(".ed-rule-head").click()
    expect(row(rules, "high").locator("form")).to_be_visible()
    row(rules, "high").locator("details").evaluate_all("all => all.forEach(each => { each.open = true })")
    assert grave(page) == []
