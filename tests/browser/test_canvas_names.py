"""Nothing on the pages of a line shows a key or an id, but the fields that set them: names, everywhere outside Code."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from pipelines.lines.publishing import create_line
from pipelines.models import Line
from tests.browser.canvas import node
from tests.browser.conftest import Enter
from tests.factories import World, document, station
from tests.pages.conftest import at

DOCUMENT: dict[str, Any] = document(
    key="drawn",
    inputs=[{"key": "zq-what", "label": "What"}],
    stations=[
        station(
            "zq-a",
            {"id": "zq-1", "when": {"result": "failure"}, "to": "zq-b", "gates": ["zq-look"]},
            {"id": "zq-2", "to": ["zq-b", "zq-c"]},
            {"id": "zq-3", "to": "zq-sent"},
            name="Alpha",
        ),
        station("zq-b", {"id": "zq-4", "to": "zq-d"}, {"id": "zq-5", "to": "zq-a"}, name="Beta"),
        station("zq-c", {"id": "zq-6", "to": "zq-d"}, name="Gamma"),
        station("zq-d", {"id": "zq-7", "to": "zq-sent"}, name="Delta", join={"wait_for": ["zq-b", "zq-c"]}),
        station("zq-e", {"id": "zq-8", "to": "zq-sent"}, name="Lost"),
    ],
    gates=[{"key": "zq-look", "name": "A look", "mode": "manual"}],
    ends=[{"key": "zq-sent", "kind": "completed", "label": "Sent"}],
    guarantees=[{"id": "zq-promise", "never": {"reach": "zq-d", "without": "zq-look"}}],
)
SHOWN = """() => {
  const found = []
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let text; (text = walk.nextNode()); )
    if (text.textContent.includes('zq-') && !text.parentElement.closest('script, style, noscript, .ed-example'))
      found.push(text.textContent.trim())
  for (const each of document.querySelectorAll('[title*="zq-"], [aria-label*="zq-"]')) found.push(each.outerHTML)
  return found
}"""
"""An example is a piece of code."""


@pytest.fixture
def line(world: World) -> Line:
    return create_line(world.project, "drawn", "Drawn", copy.deepcopy(DOCUMENT), world.admin)


@pytest.fixture
def canvas(line: Line, enter_canvas: Enter) -> Page:
    return enter_canvas(line)


def shown(page: Page) -> list[str]:
    """Once the form of what is chosen is there."""
    expect(page.locator(".ed-inspector .skeleton")).to_have_count(0)
    found: list[str] = page.evaluate(SHOWN)
    return found


@pytest.mark.wide
def test_the_editor_shows_no_key_and_no_id(canvas: Page) -> None:
    found: dict[str, list[str]] = {"problems": shown(canvas)}
    for key in ("", "zq-a", "zq-b", "zq-d", "zq-sent"):
        if key:
            node(canvas, key).click()
        for tab in canvas.locator(".ed-tabs [role=tab]").all():
            tab.click()
            found[f"{key} {tab.inner_text()}"] = shown(canvas)
            for rule in canvas.locator(".ed-rule[data-rule] .ed-rule-head").all():
                rule.click()
                found[f"{key} {rule.inner_text()}"] = shown(canvas)
    assert {place: words for place, words in found.items() if words} == {}


@pytest.mark.wide
@pytest.mark.parametrize("place", ["line", "line-live", "line-tests", "line-publish"])
def test_the_pages_of_a_line_show_no_key_and_no_id(canvas: Page, world: World, place: str) -> None:
    canvas.goto(at(world, place, "drawn"))
    assert shown(canvas) == []


@pytest.mark.wide
def test_a_missing_reference_is_told_by_names_with_its_fix(world: World, enter_canvas: Enter) -> None:
    drawn = copy.deepcopy(DOCUMENT)
    drawn["stations"][2]["rules"][0]["to"] = "zq-sennt"
    page = enter_canvas(create_line(world.project, "drawn", "Drawn", drawn, world.admin))
    problem = page.locator('.ed-problem[data-check="unknown-reference"]')
    problem.locator(".ed-problem-more summary").click()
    expect(problem).to_contain_text("Did you mean “Sent”?")
    expect(problem.get_by_role("button", name="Fix: lead to Sent")).to_be_visible()
    problem.get_by_role("button", name="Fix: lead to Sent").click()
    expect(problem).to_have_count(0)
