"""One command for several chosen tasks, in a real browser: the plan, progress, a stop, and what was refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from pipelines import engine
from pipelines.models import Pause, Task, User
from tests.browser.looking import look
from tests.factories import World, make_world
from tests.pages.conftest import As, at
from tests.pages.test_board import LINE

pytestmark = pytest.mark.django_db
SignIn = Callable[[Page | BrowserContext, User], None]


def started(world: World, *titles: str) -> list[Task]:
    version = world.line(LINE)
    return [world.start(version, title=title) for title in titles]


@pytest.fixture
def page(new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World) -> Page:
    page = new_context().new_page()
    sign_in(page, world.operator)
    return page


def test_all_that_match_are_those_that_the_reader_may_change(world: World, signed_in: As) -> None:
    tasks = started(world, "one", "two", "three")
    theirs = make_world()
    started(theirs, "one of theirs")
    client = signed_in(world.operator)
    for address in (at(world, "line-live", "line"), reverse("tasks-live")):
        chosen = json.loads(client.get(address, {"fragment": "chosen"}).content)
        assert sorted(value.split()[0].rpartition("/")[2] for value in chosen) == sorted(
            task.name for task in tasks
        )
        assert len(json.loads(client.get(address, {"fragment": "chosen", "q": "two"}).content)) == 1
        path = chosen[0].split()[0]
        assert client.get(path).json()["title"] in {"one", "two", "three"}
    viewer = signed_in(world.viewer)
    assert json.loads(viewer.get(reverse("tasks-live"), {"fragment": "chosen"}).content) == []
    assert "data-choose" not in viewer.get(reverse("tasks-live")).content.decode()


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_several_are_moved_by_one_command_each_after_their_plan(
    page: Page, world: World, tmp_path: Path
) -> None:
    first, second, third = started(world, "first", "second", "third")
    engine.cancel(third.pk, actor=engine.Actor.person(world.admin))
    world.started(second)
    page.goto(at(world, "line-live", "line"))
    for task in (first, second):
        page.get_by_label(f"Select {task.name}").check()
    expect(page.get_by_text("2 selected")).to_be_visible()
    page.get_by_role("button", name="Move …").click()
    dialog = page.get_by_role("dialog", name="Move 2 tasks")
    dialog.get_by_label("To").select_option("check")
    expect(
        dialog.get_by_text("2 of 2 tasks can be moved. Running work of 1 task is stopped.")
    ).to_be_visible()
    assert (world.at(first), world.at(second)) == (["build"], ["build"])
    look(page, tmp_path, "bulk")
    token = world.token(second)
    engine.move(token.pk, user=world.admin, token_version=token.version, to="ship")
    dialog.get_by_role("button", name="Move").click()
    expect(dialog.get_by_text("Moved: 1 of 2 tasks.")).to_be_visible()
    expect(dialog.get_by_role("listitem")).to_contain_text(f"{second.name} This task changed")
    assert (world.at(first), world.at(second)) == (["check"], ["ship"]), "who was first wins"


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_all_that_match_are_paused_and_a_stop_asks_no_more(page: Page, world: World) -> None:
    tasks = started(world, *(f"task {number}" for number in range(60)))
    page.goto(reverse("tasks-live"))
    page.get_by_role("link", name="task 0", exact=True).focus()
    page.keyboard.press("x")
    page.get_by_label("All that match").check()
    page.get_by_role("button", name="Pause …").click()
    dialog = page.get_by_role("dialog", name="Pause 60 tasks")
    dialog.get_by_label("Reason").fill("Freeze")
    dialog.get_by_role("button", name="Pause").click()
    dialog.get_by_role("button", name="Stop").click()
    expect(dialog.get_by_text("Paused: ")).to_be_visible()
    expect(dialog.get_by_role("button", name="Stop")).to_be_hidden()
    paused = Pause.objects.filter(task__in=tasks, reason="Freeze", ended_at=None).count()
    assert 0 < paused < 60
    expect(dialog.get_by_text(f"Paused: {paused} of 60 tasks.")).to_be_visible()


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_all_that_match_are_planned_anew_for_another_station(page: Page, world: World) -> None:
    first, second = started(world, "first", "second")
    page.goto(at(world, "line-live", "line"))
    page.get_by_label(f"Select {first.name}").check()
    page.get_by_label("All that match").check()
    page.get_by_role("button", name="Move …").click()
    dialog = page.get_by_role("dialog", name="Move 2 tasks")
    dialog.get_by_label("To").select_option("check")
    expect(dialog.get_by_text("2 of 2 tasks can be moved.")).to_be_visible()
    dialog.get_by_role("button", name="Move").click()
    expect(dialog.get_by_text("Moved: 2 of 2 tasks.")).to_be_visible()
    assert (world.at(first), world.at(second)) == (["check"], ["check"])
