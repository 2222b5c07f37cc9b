"""A task that waits for a person's input says so wherever it is shown, and is never called running."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from pipelines.models import Task, User
from tests.factories import World, station
from tests.fixtures.site import Site
from tests.pages.conftest import at

pytestmark = pytest.mark.django_db(transaction=True)

ASKS = {"result": "success", "signals": [{"verdict": "hold", "meta": {"question": "Which colour?"}}]}


def by_hand(world: World, key: str) -> Task:
    return world.start(world.line(stations=[station("sign", kind="manual")], key=key))


def asking(world: World, key: str) -> Task:
    task = world.start(world.line(stations=["paint"], key=key))
    world.report(task, ASKS)
    return task


@pytest.mark.parametrize("made", [by_hand, asking])
@pytest.mark.wide
def test_a_person_sees_that_a_task_waits_for_input(
    page: Page,
    site: Site,
    world: World,
    sign_in: Callable[[Page, User], None],
    made: Callable[[World, str], Task],
) -> None:
    task = made(world, "small")
    sign_in(page, world.operator)
    page.goto(at(world, "line-live", "small"))
    card = page.locator(f"[data-task='{task.name}'] [data-status]")
    expect(card).to_have_text("Waiting for input")
    counts = page.get_by_role("navigation", name="Show only")
    expect(counts.get_by_role("link", name="running")).to_have_text("0 running")
    expect(counts.get_by_role("link", name="waiting")).to_contain_text("1 waiting")
    counts.get_by_role("link", name="waiting").click()
    expect(card).to_have_text("Waiting for input")

    page.goto(at(world, "tasks"))
    page.get_by_label("Status").select_option(label="Waiting for input")
    expect(page).to_have_url(re.compile("status=waiting_for_input"))
    row = page.get_by_role("row").filter(has_text=task.name)
    expect(row.locator("[data-status]")).to_have_text("Waiting for input")

    page.goto(at(world, "task", task.name))
    expect(page.locator(".task-head [data-status]")).to_have_text("Waiting for input")

    if made is by_hand:
        world.report(task)
    else:
        page.locator("textarea[name=text]").fill("Blue.")
        page.get_by_role("button", name="Answer").click()
    done = "completed" if made is by_hand else "queued"
    page.goto(at(world, "task", task.name))
    expect(page.locator(".task-head [data-status]")).to_have_attribute("data-status", done)
