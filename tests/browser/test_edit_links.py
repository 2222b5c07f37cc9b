"""Every *Edit* of every page leads to the canvas: clicked in a real browser, on a line that was never published and on
one that was."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from pipelines.lines import publishing
from pipelines.models import Line, User
from tests.factories import World
from tests.pages.conftest import at

EDIT = re.compile(r"^(Edit\b|Change the line$)")
PAGES = (
    "line",
    "line-live",
    "line-tasks",
    "line-tests",
    "line-versions",
    "line-insights",
    "line-backtest",
    "line-publish",
    "line-impact",
)


def document(key: str, **station: Any) -> dict[str, Any]:
    stations = [{"key": "build", "name": "Build", "work": {"kind": "noop"}, **station}]
    return {"gateline": 1, "key": key, "name": key.title(), "stations": stations}


@pytest.fixture
def unpublished(world: World) -> Line:
    return publishing.create_line(world.project, "new", "New", document("new"), world.admin)


@pytest.fixture
def tested(world: World) -> Line:
    """Its back-test asks to edit the draft, which leads nowhere."""
    version = world.line(stations=["build", "ship"], key="tested")
    world.report(world.start(version))
    line = version.line
    nowhere = document("tested", rules=[{"id": "on", "to": "nowhere"}])
    return publishing.save_draft(line, nowhere, world.admin, line.draft_number)


@pytest.fixture
def published(world: World) -> Line:
    line = publishing.create_line(world.project, "old", "Old", document("old"), world.admin)
    publishing.publish_draft(line, user=world.admin, name="", based_on=1)
    return line


@pytest.mark.wide
def test_every_edit_of_every_page_leads_to_the_canvas(
    page: Page,
    world: World,
    unpublished: Line,
    published: Line,
    tested: Line,
    sign_in: Callable[[Page, User], None],
) -> None:
    sign_in(page, world.admin)
    found = {}
    lines = (unpublished, published, tested)
    addresses = [("/", published), *((at(world, name, each.key), each) for name in PAGES for each in lines)]
    for address, line in addresses:
        page.goto(address)
        # The content alone has them: the tab of every page is one more, and is clicked below.
        for link in page.locator("main").get_by_role("link", name=EDIT).all():
            found[address, link.inner_text()] = (link.get_attribute("href"), at(world, "line-draw", line.key))
    assert [(place, leads) for place, leads in found.items() if leads[0] != leads[1]] == []
    asking = {at(world, name, "new") for name in ("line", "line-live", "line-versions")}
    asking |= {"/", at(world, "line-backtest", "tested")}
    assert asking == {address for address, _ in found}

    for address in sorted(asking):
        page.goto(address)
        page.locator("main").get_by_role("link", name=EDIT).last.click()
        expect(page.locator(".ed-canvas .ed-station")).to_have_count(1)
    page.goto(at(world, "line", "old"))
    page.get_by_role("link", name="Edit", exact=True).click()
    expect(page.locator(".ed-canvas .ed-station")).to_have_count(1)


@pytest.mark.wide
def test_a_template_begins_on_the_canvas(
    page: Page, world: World, sign_in: Callable[[Page, User], None]
) -> None:
    sign_in(page, world.admin)
    page.goto(at(world, "lines-new"))
    page.get_by_role("button", name="Use this template").first.click()
    expect(page.locator(".ed-canvas .ed-station").first).to_be_visible()
