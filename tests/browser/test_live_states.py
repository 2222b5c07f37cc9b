"""Live pages by axe, at both widths and themes: with nothing, with much that goes on, and without a connection."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import Task, User
from tests.axe import grave
from tests.browser.looking import look
from tests.factories import World
from tests.pages.conftest import at
from tests.reviews import inbox_items

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.wide]
SignIn = Callable[[Page | BrowserContext, User], None]
LINE = "sticks"
GOING_ON = ("gate", "question", "blocked", "stuck", "late", "manual", "held", "missing", "escalation")
ADDRESSES: dict[str, Callable[[World], str]] = {
    "home": lambda world: reverse("home"),
    "inbox": lambda world: reverse("needs-me"),
    "board": lambda world: at(world, "line-live", LINE),
    "graph": lambda world: at(world, "line-live", LINE) + "?view=graph",
    "timeline": lambda world: at(world, "line-live", LINE) + "?view=timeline",
    "open-board": lambda world: reverse("tasks-live"),
    "open-timeline": lambda world: reverse("tasks-live") + "?view=timeline",
    "activity": lambda world: reverse("activity"),
}


def busy(world: World) -> Task:
    """Return a task that is stuck, of the line that is looked at, beside one of each kind."""
    made = {kind: getattr(inbox_items, kind)(world) for kind in GOING_ON}
    version = made["stuck"].pinned
    world.start(version, title="Queued")
    world.started(world.start(version, title="Running"))
    done = world.start(version, title="Done")
    world.report(done, {"result": "success", "eval": "never"})
    world.report(done)
    world.report(world.start(version, title="Failed"), {"result": "failure", "summary": "No scales."})
    return made["stuck"]


@pytest.mark.parametrize("state", ["empty", "busy"])
@pytest.mark.parametrize("name", ADDRESSES)
def test_axe_finds_nothing_grave(
    page: Page, sign_in: SignIn, world: World, tmp_path: Path, name: str, state: str
) -> None:
    if state == "busy":
        busy(world)
    else:
        world.line(stations=["weigh", "ship"], key=LINE)
    sign_in(page, world.admin)
    page.goto(ADDRESSES[name](world), wait_until="networkidle")
    # Home of a project without tasks is one card, which has no dot
    dot = page.locator("[data-live-state]").first
    if (name, state) != ("home", "empty"):
        expect(dot).to_have_attribute("data-state", "live")
    look(page, tmp_path, f"{name}-{state}")
    assert grave(page) == [], "light and wide, as well"
    page.context.set_offline(True)
    if (name, state) != ("home", "empty"):
        expect(dot).not_to_have_attribute("data-state", "live")
    assert grave(page) == [], "without a connection"
    look(page, tmp_path, f"{name}-{state}-disconnected")


def test_axe_finds_nothing_grave_on_the_page_of_a_task(
    page: Page, sign_in: SignIn, world: World, tmp_path: Path
) -> None:
    task = busy(world)
    sign_in(page, world.admin)
    page.goto(at(world, "task", task.name))
    expect(page.locator("[data-live-state]").first).to_have_attribute("data-state", "live")
    look(page, tmp_path, "task")
    assert grave(page) == [], "light and wide, as well"
    page.context.set_offline(True)
    expect(page.locator("[data-live-state]").first).not_to_have_attribute("data-state", "live")
    look(page, tmp_path, "task-disconnected")
