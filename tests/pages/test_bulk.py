"""One command for several chosen tasks, in a real browser: the plan, progress, a stop, and what became of each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from pipelines import engine
from pipelines.lines import bulk_commands
from pipelines.models import BulkCommand, Pause, Task, User
from tests.browser.looking import look
from tests.factories import World, make_world
from tests.pages.conftest import As, at
from tests.pages.test_board import LINE
from tests.waiting import until

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


@pytest.fixture
def runner(transactional_db: None) -> Iterator[None]:
    """Works on what is given, as a runner does on its tickets; so slowly that one can look at it."""
    ended = threading.Event()

    def has_ended() -> bool:
        under_way = BulkCommand.objects.filter(state__in=("planning", "running"))
        for pk in under_way.values_list("pk", flat=True):
            bulk_commands.work_on_bulk_command(pk, 0.05)
        return ended.is_set()

    def work() -> None:
        try:
            until(has_ended, "the end of the test")
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    yield
    ended.set()
    thread.join()


def test_all_that_match_are_those_that_the_reader_may_change(world: World, signed_in: As) -> None:
    tasks = started(world, "one", "two", "three")
    theirs = make_world()
    started(theirs, "one of theirs")
    client = signed_in(world.operator)
    for form in ({"line": f"{world.project}/line"}, {"matching": "?q="}):
        answer = client.post(reverse("task-bulk-commands"), {"action": "pause", "all": "yes", **form})
        command = BulkCommand.objects.latest("created_at")
        assert answer["Location"] == reverse("task-bulk-command", args=[command.pk])
        assert {entry.task for entry in command.entries.all()} == set(tasks)
    client.post(reverse("task-bulk-commands"), {"action": "pause", "all": "yes", "matching": "?q=two"})
    assert [entry.task.title for entry in BulkCommand.objects.latest("created_at").entries.all()] == ["two"]
    viewer = signed_in(world.viewer)
    refused = viewer.post(reverse("task-bulk-commands"), {"action": "pause", "all": "yes"})
    assert refused.status_code == 422 and "No open task matches" in refused.content.decode()
    assert "data-choose" not in viewer.get(reverse("tasks-live")).content.decode()


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"all": "yes"}, "is no command for many tasks"),
        ({"action": "pause"}, "Choose 1 to 1000 tasks"),
        ({"action": "pause", "chosen": "nothing\0 x\nacme/WI-app-9999999999999999999 1"}, "no such task"),
        ({"action": "pause", "all": "yes", "matching": "?line=nowhere"}, "no such line"),
        ({"action": "pause", "all": "yes", "matching": "?project=a/b"}, "no such project"),
        ({"action": "move", "all": "yes"}, "is missing"),
        ({"action": "pause", "all": "yes", "reason": "x" * 3000}, "longer than 2000"),
    ],
)
def test_what_cannot_be_done_is_said(world: World, signed_in: As, form: dict[str, str], words: str) -> None:
    started(world, "one")
    answer = signed_in(world.operator).post(reverse("task-bulk-commands"), form)
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert not BulkCommand.objects.exists()


def test_the_page_of_a_command_asks_as_often_for_many_tasks_as_for_few(
    world: World, signed_in: As, django_assert_max_num_queries: Callable[..., object]
) -> None:
    client = signed_in(world.operator)
    for count in (2, 30):
        started(world, *(f"{count} {number}" for number in range(count)))
        client.post(
            reverse("task-bulk-commands"), {"action": "retry", "all": "yes", "matching": f"?q={count} "}
        )
        command = BulkCommand.objects.latest("created_at")
        assert command.entries.count() == count
        bulk_commands.work_on_bulk_command(command.pk, 60)
        with django_assert_max_num_queries(14):  # type: ignore[attr-defined]
            text = client.get(reverse("task-bulk-command", args=[command.pk])).content.decode()
        assert text.count("Its work has not begun") >= count
    assert client.get(reverse("task-bulk-commands")).content.decode().count("Retry 30 tasks") == 1


@pytest.mark.wide
@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("runner")
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
    dialog = page.get_by_role("dialog", name="Move tasks")
    dialog.get_by_label("To", exact=True).select_option("check")
    expect(dialog.get_by_text("2 tasks can be moved.")).to_be_visible()
    expect(dialog.get_by_text("Running work of 1 task is stopped.")).to_be_visible()
    assert (world.at(first), world.at(second)) == (["build"], ["build"])
    look(page, tmp_path, "bulk-plan")
    token = world.token(second)
    engine.move_or_retry_by_hand(token.pk, user=world.admin, token_version=token.version, to="ship")
    dialog.get_by_label("Reason").fill("Freeze")
    dialog.get_by_role("button", name="Move 2 tasks").click()
    expect(dialog.get_by_text("Moved: 1 of 2")).to_be_visible()
    expect(dialog.get_by_label("Tasks that were refused")).to_contain_text(second.name)
    assert (world.at(first), world.at(second)) == (["check"], ["ship"]), "who was first wins"
    assert first.events.filter(data__reason="Freeze").exists()
    look(page, tmp_path, "bulk-result")
    dialog.get_by_role("link", name="the results").click()
    row = page.get_by_role("row").filter(has_text=second.name)
    expect(row).to_contain_text("Something else came first.")
    expect(page.get_by_role("row").filter(has_text=first.name)).to_contain_text("Done")
    look(page, tmp_path, "bulk-page")
    page.get_by_role("link", name="Bulk commands").click()
    expect(page.get_by_role("row").filter(has_text="Move 2 tasks")).to_contain_text("Freeze")
    look(page, tmp_path, "bulk-list")


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("runner")
def test_all_that_match_are_paused_and_a_stop_does_no_more(
    page: Page, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = started(world, *(f"task {number}" for number in range(60)))
    page.goto(reverse("tasks-live"))
    page.get_by_role("link", name="task 0", exact=True).focus()
    page.keyboard.press("x")
    page.get_by_label("All that match").check()
    page.get_by_role("button", name="Pause …").click()
    dialog = page.get_by_role("dialog", name="Pause tasks")
    dialog.get_by_label("Reason").fill("Freeze")
    dialog.get_by_role("button", name="Pause 60 tasks").click()
    dialog.get_by_role("button", name="Stop", exact=True).click()
    expect(dialog.get_by_text("Stopped. Paused: ")).to_be_visible()
    expect(dialog.get_by_role("button", name="Stop", exact=True)).to_be_hidden()
    paused = Pause.objects.filter(task__in=tasks, reason="Freeze", ended_at=None).count()
    assert 0 <= paused < 60
    expect(dialog.get_by_text(f"Stopped. Paused: {paused} of 60")).to_be_visible()
    assert BulkCommand.objects.get().entries.filter(result="left").count() == 60 - paused


@pytest.mark.wide
@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("runner")
def test_all_that_match_are_planned_anew_for_another_station(page: Page, world: World) -> None:
    first, second = started(world, "first", "second")
    page.goto(at(world, "line-live", "line"))
    page.get_by_label(f"Select {first.name}").check()
    page.get_by_label("All that match").check()
    page.get_by_role("button", name="Move …").click()
    dialog = page.get_by_role("dialog", name="Move tasks")
    expect(dialog.get_by_role("button", name="Move")).to_have_count(0)
    dialog.get_by_label("To", exact=True).select_option("check")
    expect(dialog.get_by_text("2 tasks can be moved.")).to_be_visible()
    dialog.get_by_role("button", name="Move 2 tasks").click()
    expect(dialog.get_by_text("Moved: 2 of 2")).to_be_visible()
    assert (world.at(first), world.at(second)) == (["check"], ["check"])
    assert BulkCommand.objects.count() == 1, "the plan for the first station is withdrawn"
