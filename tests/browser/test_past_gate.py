"""What a newcomer tries first: to get past the gate of a line, in a copy of it on the canvas."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from pipelines.lines import publishing
from pipelines.lines.demo import example
from pipelines.models import Line, User
from tests.axe import grave, settle
from tests.browser.canvas import node, saved
from tests.factories import World
from tests.fixtures.site import Site
from tests.pages.conftest import at


@pytest.fixture
def line(world: World) -> Line:
    text = example.example_line_text("fix-lint-findings", "https://git.example.com/team/app.git")
    made = publishing.create_line(world.project, "fix-lint-findings", "Fix lint findings", text, world.admin)
    assert world.reviewer
    publishing.publish_draft(made, user=world.admin, based_on=made.draft_number)
    return made


def test_one_button_leads_past_the_gate_and_the_copy_cannot_be_published(
    world: World, page: Page, site: Site, sign_in: Callable[[Page, User], None], line: Line
) -> None:
    sign_in(page, world.admin)
    page.goto(at(world, "line", line.key))
    page.get_by_role("button", name="Try to get past the gate").click()
    strip = page.locator(".ed-past")
    expect(strip).to_contain_text("Nothing reaches Merge without Code review")
    assert "fix-lint-findings-2" in page.url
    publish = page.locator("#editor-bar").get_by_role("button", name="Publish")
    expect(publish).to_be_enabled()
    strip.get_by_role("button", name=re.compile("^Lead “Tests pass or none ran” straight to Merge$")).click()
    saved(page)
    expect(strip).to_contain_text("Merge can be reached without Code review.")
    expect(page.locator('.ed-way[data-rule="tested"]').first).to_have_attribute("data-mark", "taken")
    expect(publish).to_be_disabled()
    page.locator(".ed-canvas").press("Shift+P")
    expect(page.locator("#announcer")).to_contain_text("Fix the errors first")
    settle(page)
    assert grave(page) == []
    strip.get_by_role("button", name="Undo").click()
    saved(page)
    expect(strip).to_contain_text("Nothing reaches Merge without Code review")
    expect(publish).to_be_enabled()
    line.refresh_from_db()
    assert "code-review" in str(line.draft["stations"]), "the line itself stays as it is"


@pytest.mark.wide
def test_a_rule_that_is_put_first_leaves_nothing_to_the_next(
    world: World, page: Page, site: Site, sign_in: Callable[[Page, User], None], line: Line
) -> None:
    sign_in(page, world.admin)
    page.goto(at(world, "line", line.key))
    page.get_by_role("button", name="Try to get past the gate").click()
    page.locator(".ed-past").get_by_role("button", name="Open the rules of Fix, then drag 2 above 1").click()
    rows = page.locator(".ed-inspector [data-rule]")
    expect(rows.first).to_contain_text("Fixed")
    grips = page.locator(".ed-inspector .ed-rule-grip")
    grips.nth(1).drag_to(grips.nth(0), target_position={"x": 2, "y": 2})
    saved(page)
    expect(rows.nth(1)).to_contain_text("Never matches")
    expect(page.locator(".ed-inspector")).to_contain_text("For example")
    page.get_by_role("button", name=re.compile("^Fix: move above 1")).first.click()
    saved(page)
    expect(rows.first).to_contain_text("Fixed")
    assert node(page, "fix")
