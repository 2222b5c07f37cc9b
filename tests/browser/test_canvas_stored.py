"""The canvas opens with the layout that the server has stored of the draft, and lays nothing out itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from pipelines.lines.publishing import create_line
from pipelines.lines.starters.catalogue import STARTERS
from pipelines.models import Line, User
from pipelines.web.editor import drawing_tasks
from tests.factories import World, document, station
from tests.pages.conftest import at

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("not_requested"),
]
NO_WORKERS = "delete window.Worker"
"""A canvas without any shows only what was laid out elsewhere."""


def signs_of_a_draft() -> dict[str, Any]:
    """A line with all that only the canvas draws: a rule that never matches, a loop without a limit, one with a limit,
    signs at a station, and words of conditions."""
    high = {"output": {"path": "high", "op": "gt", "value": 0}}
    build = station(
        "build",
        {"id": "good", "when": {"result": "success"}, "to": "check"},
        {"id": "never", "when": {"all": [{"result": "success"}, high]}, "to": "completed"},
        {"id": "again", "when": {"result": "failure"}, "to": "build", "max_retries": 2},
        name="Build",
        limits={"max_visits": 9},
    )
    check = station(
        "check",
        {"id": "back", "when": high, "to": "build"},
        {"id": "ask", "when": {"result": "success"}, "to": "completed", "gates": ["look"]},
        name="Check",
    )
    return document(stations=[build, check], gates=[{"key": "look", "name": "A look"}])


def opened(page: Page, world: World, line: Line) -> None:
    page.goto(at(world, "line-draw", line.key))
    expect(page.locator('.react-flow[aria-busy="false"]')).to_be_visible()
    assert page.locator(".ed-station, .ed-bar").count() > 0


@pytest.mark.wide
def test_the_canvas_opens_with_the_stored_layout(
    page: Page, sign_in: Callable[[Page, User], None], world: World
) -> None:
    sign_in(page, world.designer)
    page.add_init_script(NO_WORKERS)
    documents = [signs_of_a_draft(), *(starter.line.to_document() for starter in STARTERS[::6])]
    for number, one in enumerate(documents):
        key = f"line-{number}"
        line = create_line(world.project, key, key, {**one, "key": key, "name": key}, world.admin)
        drawing_tasks._draw_draft(line.pk, line.draft_number)
        opened(page, world, line)
