"""How many recorded outcomes a rule matches, beside the rule in a real browser: counted again with every change, with
an example that leads to its task; by keyboard the paths of recorded outputs are chosen."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from pipelines.lines.publishing import save_draft
from pipelines.models import Line, User
from tests.axe import grave
from tests.browser.canvas import draft, saved
from tests.factories import World, document, station
from tests.fixtures.site import Site
from tests.pages.conftest import at
from tests.waiting import until

HIGH = {"id": "high", "when": {"output": {"path": "high", "op": "gt", "value": 2}}, "to": "fix"}
OK = {"id": "ok", "label": "Built", "when": {"result": "success"}, "to": "ship"}


def drawn(world: World, outcomes: int, *rules: dict[str, Any]) -> Line:
    stations = [station("build", *(rules or (HIGH, OK))), "fix", "ship"]
    version = world.line(document(key="drawn", stations=stations))
    for value in range(outcomes):
        output = {"high": value, "review": {"severity": "minor"}}
        world.report(world.start(version), {"result": "success", "output": output})
    return version.line


def entered(page: Page, world: World, sign_in: Callable[[Page, User], None]) -> Locator:
    sign_in(page, world.admin)
    page.goto(at(world, "line-draw", "drawn"))
    page.locator('.react-flow__node[data-id="build"]').click()
    page.get_by_role("tab", name="Rules").click()
    return page.locator(".ed-rules")


@pytest.mark.wide
def test_a_rule_says_how_many_recorded_outcomes_it_matches(
    page: Page, site: Site, world: World, sign_in: Callable[[Page, User], None]
) -> None:
    line = drawn(world, 5)
    rules = entered(page, world, sign_in)
    high = rules.locator('[data-rule="high"]')
    expect(high).to_contain_text("Matches 2 of 5 recorded outcomes.")
    ok = rules.locator('[data-rule="ok"]')
    expect(ok).to_contain_text("Matches 3 of 5 recorded outcomes. By itself it matches 5.")
    expect(rules).to_contain_text("Takes 0 of 5 recorded outcomes.")
    high.locator(".ed-rule-head").click()
    example = high.locator(".ed-matches-example")
    expect(example).to_contain_text("high is greater than 2: 4")
    expect(high.get_by_label("Value", exact=True)).to_be_visible()
    assert grave(page) == []
    high.get_by_label("Value", exact=True).fill("0")
    page.keyboard.press("Enter")
    expect(high).to_contain_text("Matches 4 of 5 recorded outcomes.")
    high.get_by_label("Value", exact=True).fill("40")
    page.keyboard.press("Enter")
    expect(high).to_contain_text("Matches none of 5 recorded outcomes.")
    expect(example).to_contain_text("Not the newest:")
    saved(page)
    assert draft(line)["stations"][0]["rules"][0]["when"]["output"]["value"] == 40
    with page.context.expect_page() as opened:
        example.get_by_role("link").click()
    expect(opened.value.get_by_role("heading", level=1)).to_contain_text("A task")


@pytest.mark.wide
def test_the_outcomes_that_a_fix_sends_elsewhere_are_shown_with_their_tasks(
    page: Page, site: Site, world: World, sign_in: Callable[[Page, User], None]
) -> None:
    both = {"all": [{"result": "success"}, HIGH["when"]]}
    line = drawn(world, 10, OK)
    dead = copy.deepcopy(line.draft)
    dead["stations"][0]["rules"].append({"id": "high", "when": both, "to": "fix"})
    save_draft(line, dead, world.admin, line.draft_number)
    high = entered(page, world, sign_in).locator('[data-rule="high"]')
    expect(high).to_contain_text("Moved up, 7 recorded outcomes go to fix instead of ship.")
    tasks = high.get_by_role("link", name=f"WI-{world.project.key}-")
    expect(tasks).to_have_count(0)
    high.get_by_role("button", name="Show the 7").click()
    expect(tasks).to_have_text([f"WI-{world.project.key}-{number}" for number in (10, 9, 8, 7, 6)])
    expect(high).to_contain_text("and 2 more")
    assert grave(page) == []
    with page.context.expect_page() as opened:
        tasks.last.click()
    expect(opened.value).to_have_url(re.compile(rf"/WI-{world.project.key}-6/$"))
    high.get_by_role("button", name="Hide the 7").click()
    expect(tasks).to_have_count(0)


@pytest.mark.wide
def test_paths_of_recorded_outputs_are_chosen_by_keyboard(
    page: Page, site: Site, world: World, sign_in: Callable[[Page, User], None]
) -> None:
    line = drawn(world, 2)
    rules = entered(page, world, sign_in)
    rules.locator('[data-rule="high"] .ed-rule-head').click()
    path = rules.get_by_role("combobox", name="Path")
    path.focus()
    page.keyboard.press("Control+a")
    page.keyboard.type("review.s")
    expect(page.get_by_role("option", name="review.severity")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(rules.locator('[data-rule="high"]')).to_contain_text("review.severity")
    saved(page)
    assert draft(line)["stations"][0]["rules"][0]["when"]["output"]["path"] == "review.severity"


@pytest.mark.wide
def test_a_condition_is_one_line_until_it_is_opened(
    page: Page, site: Site, world: World, sign_in: Callable[[Page, User], None]
) -> None:
    either = [{"output": {"path": f"part-{number}", "op": "equals", "value": 1}} for number in range(6)]
    drawn(world, 1, {"id": "long", "when": {"all": either}, "to": "fix"}, OK)
    rules = entered(page, world, sign_in)
    words = rules.locator('[data-rule="long"] .ed-rule-head strong')
    short = rules.locator('[data-rule="ok"] .ed-rule-head strong')
    expect(words).to_contain_text("part-5 is 1")
    assert _height(words) == _height(short)
    words.click()
    expect(rules.locator('[data-rule="long"] .ed-rule-head')).to_have_attribute("aria-expanded", "true")
    assert _height(words) > 2 * _height(short)


def _height(place: Locator) -> float:
    box = place.bounding_box()
    assert box
    return box["height"]


@pytest.mark.wide
def test_where_nothing_was_recorded_or_the_server_is_away_the_page_says_so(
    page: Page, site: Site, world: World, sign_in: Callable[[Page, User], None]
) -> None:
    drawn(world, 0)
    rules = entered(page, world, sign_in)
    expect(rules).to_contain_text("No outcome has been recorded yet.")
    expect(rules.locator(".ed-matches")).to_have_count(0)
    refused: list[Route] = []

    def away(route: Route) -> None:
        refused.append(route)
        route.abort()

    page.route("**/draft/matches", away)
    rules.get_by_role("button", name="Add rule").click()
    until(lambda: refused, "the request", page)
    expect(rules).to_contain_text("Recorded outcomes could not be counted")
