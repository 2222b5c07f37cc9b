"""The table of failures in a real browser: what it writes into the line, as one step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from pipelines.lines.publishing import create_line
from pipelines.models import Line, User
from tests.browser.canvas import saved
from tests.factories import World, document, station
from tests.fixtures.site import Site
from tests.pages.conftest import at

GAP = {"id": "gap", "when": {"failure_type": "test gap"}, "to": "build", "max_retries": 2}
ON = {"id": "on", "when": {"result": "success"}, "to": "completed"}
FAILED = {"id": "failed", "when": {"result": "failure"}, "to": "build"}
ELSE = {"id": "else", "to": "failed"}


def stored(line: Line) -> list[dict[str, Any]]:
    line.refresh_from_db()
    found: list[dict[str, Any]] = line.draft["stations"][1]["rules"]
    return found


@pytest.mark.wide
def test_E16_a_new_type_of_failure_stands_before_the_rule_for_every_failure_and_undo_takes_it_back(
    page: Page, site: Site, world: World, sign_in: Callable[[Page, User], None]
) -> None:
    stations = [station("build"), station("check", GAP, ON, FAILED, ELSE)]
    line = create_line(world.project, "routed", "Routed", document(stations, key="routed"), world.admin)
    sign_in(page, world.admin)
    page.goto(at(world, "line-draw", "routed"))
    page.locator('.react-flow__node[data-id="check"]').click()
    page.get_by_role("tab", name="Rules").click()
    page.locator("summary", has_text="Route failures by type").focus()
    page.keyboard.press("Enter")
    table = page.locator(".ed-failures")
    expect(table.get_by_text("test gap → build, at most 2")).to_be_visible()

    table.get_by_role("button", name="Add a type of failure").focus()
    page.keyboard.press("Enter")
    kind = table.get_by_label("Type of failure").last
    expect(kind).to_be_focused()
    page.keyboard.type("acceptance mismatch")
    page.keyboard.press("Enter")
    expect(table.get_by_text("acceptance mismatch → build, at most 3")).to_be_visible()
    saved(page)
    new = {
        "id": "check-failure",
        "when": {"failure_type": "acceptance mismatch"},
        "to": "build",
        "max_retries": 3,
    }
    assert stored(line) == [GAP, ON, new, FAILED, ELSE]

    table.get_by_label("Who is told then").last.fill("lead")
    page.keyboard.press("Enter")
    expect(table.get_by_label("After that").last).to_have_value("escalate")
    saved(page)
    assert stored(line) == [GAP, ON, {**new, "on_exhausted": "escalate"}, FAILED, ELSE]
    assert line.draft["budgets"] == [
        {
            "key": "check-failure",
            "kind": "failure_type",
            "failure_types": ["acceptance mismatch"],
            "stations": ["check"],
            "most": 3,
            "on_exhausted": "escalate",
            "role": "lead",
        }
    ]
    assert Axe().run(page, context=".ed-inspector").response["violations"] == []

    page.keyboard.press("Control+z")
    expect(table.get_by_label("Who is told then").last).to_have_value("")
    saved(page)
    assert stored(line) == [GAP, ON, new, FAILED, ELSE]
    assert "budgets" not in line.draft

    page.keyboard.press("Control+Shift+z")
    page.get_by_role("tab", name="Configure").click()
    page.get_by_label("Key", exact=True).fill("verify")
    page.keyboard.press("Enter")
    expect(page.locator('.react-flow__node[data-id="verify"]')).to_be_visible()
    saved(page)
    line.refresh_from_db()
    assert line.draft["budgets"][0]["stations"] == ["verify"], "the budget follows a new key of its station"
