"""The page of a task in a real browser: what goes on by itself, which log is read first, and a retry of what ended."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import RequestFactory
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, Route, expect

from pipelines import engine
from pipelines.models import Task, User
from pipelines.queries.task_view import TaskView
from pipelines.web.tasks.task import _live_part_context as live_context
from tests.browser.looking import look
from tests.engine.test_move import protected
from tests.factories import World, document, station
from tests.fixtures.browser import PHONE
from tests.pages.conftest import at
from tests.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]

LINE = document(
    [
        station("build", {"id": "on", "to": "look"}, kind="command", work={"argv": ["true"]}, name="Build"),
        {"key": "look", "name": "Look", "work": {"kind": "manual"}, "rules": []},
    ],
    inputs=[{"key": "goal"}],
)


def at_the_manual_station(world: World) -> Task:
    task = world.start(world.line(LINE), inputs={"goal": "better"}, title="Build it")
    world.report(task, {"result": "success", "output": {"commit": "abc"}})
    return task


@pytest.mark.wide
def test_times_of_a_drawing_and_a_board_go_on(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World
) -> None:
    task = at_the_manual_station(world)
    page = new_context().new_page()  # its own: the clock is the context's
    sign_in(page, world.operator)
    page.clock.install()
    for address, text in (
        (at(world, "task", task.name), re.compile("here for")),
        (at(world, "line-live", "line"), re.compile("oldest")),
    ):
        page.goto(address)
        place = page.get_by_text(text).last
        before = place.text_content()
        page.clock.run_for(120_000)
        assert re.search(r"\b[2-9]\smin\b", place.text_content() or ""), (before, place.text_content())


@pytest.mark.wide
def test_the_log_tab_opens_the_run_that_writes_one(page: Page, sign_in: SignIn, world: World) -> None:
    task = at_the_manual_station(world)
    sign_in(page, world.operator)
    page.goto(at(world, "task", task.name))
    expect(page.get_by_label("Station and run").locator("option:checked")).to_have_text("Build")


def test_what_stands_over_a_log_and_on_the_tabs_goes_on(page: Page, sign_in: SignIn, world: World) -> None:
    task = world.start(world.line(LINE), inputs={"goal": "better"}, title="Build it")
    world.started(task)
    sign_in(page, world.operator)
    page.goto(at(world, "task", task.name))
    expect(page.locator("[data-live-state]")).to_have_attribute("data-state", "live")
    expect(page.locator("#log-panel").get_by_role("link", name="Download")).to_be_visible()
    expect(page.locator("#log-meta time[data-elapsed]")).to_be_visible()
    expect(page.locator("#tab-count-outputs")).to_have_text("0")
    world.report(task, {"result": "failure", "exit_code": 7})
    expect(page.locator("#tab-count-outputs")).to_have_text("1")
    task.refresh_from_db()
    expect(page.locator("#task-live")).to_have_attribute("data-version", str(task.seq))
    expect(page.locator("#log-meta")).to_contain_text("7")
    expect(page.locator("#log-meta")).to_contain_text("failed")


@pytest.mark.wide
def test_a_filter_that_is_chosen_while_the_page_still_loads_counts(
    page: Page, sign_in: SignIn, world: World
) -> None:
    task = at_the_manual_station(world)
    world.start(world.line(key="other"), title="Another")
    sign_in(page, world.operator)
    scripts: list[Route] = []
    chosen = False

    def hold(script: Route) -> None:
        if chosen:
            script.continue_()
        else:
            scripts.append(script)

    page.route("**/*.js", hold)
    page.goto(at(world, "tasks"), wait_until="commit")
    page.get_by_label("Status").select_option(label="Waiting for input")
    chosen = True
    for script in scripts:
        script.continue_()
    expect(page).to_have_url(re.compile("status=waiting_for_input"))
    rows = page.get_by_role("region", name="Tasks").get_by_role("row")
    expect(rows).to_have_count(2)
    expect(rows.last).to_contain_text(task.name)


@pytest.mark.wide
@pytest.mark.parametrize("last", [False, True], ids=["answered-first", "answered-last"])
def test_a_filter_is_not_pushed_aside_by_what_the_list_fetches_by_itself(
    page: Page, sign_in: SignIn, world: World, last: bool
) -> None:
    at_the_manual_station(world)
    world.start(world.line(key="other"), title="Another")
    sign_in(page, world.operator)
    held: list[Route] = []
    page.route("**/*fragment=table*", lambda asked: held.append(asked))
    page.goto(at(world, "tasks"))
    until(lambda: len(held) == 1, "the list fetched itself when the page went live", page)
    page.get_by_label("Status").select_option(label="Waiting for input")
    until(lambda: len(held) == 2, "the filtered list is asked for", page)
    first, filtered = held
    if last:
        filtered.continue_()
        until(lambda: first.request.failure is not None, "what nobody waits for any more is given up", page)
    else:
        first.continue_()
        until(lambda: first.request.timing["responseEnd"] > 0, "the list of before is here", page)
        filtered.continue_()
    expect(page).to_have_url(re.compile("status=waiting_for_input"))
    expect(page.get_by_role("region", name="Tasks").get_by_role("row")).to_have_count(2)


@pytest.mark.wide
@pytest.mark.smoke(1)
@pytest.mark.parametrize("viewport", [None, PHONE])
def test_an_ended_task_is_retried_from_a_station_that_it_visited(
    new_context: Callable[..., BrowserContext],
    sign_in: SignIn,
    world: World,
    viewport: dict[str, int] | None,
) -> None:
    """On a page that was open while it ended, too."""
    task = at_the_manual_station(world)
    context = new_context(**({"viewport": viewport} if viewport else {}))
    sign_in(context, world.operator)
    page = context.new_page()
    page.goto(at(world, "task", task.name))
    expect(page.locator("[data-live-state]")).to_have_attribute("data-state", "live")
    engine.cancel(task.pk, actor=engine.Actor.person(world.operator), reason="Wrong.")
    expect(page.locator(".task-head [data-status]")).to_have_attribute("data-status", "cancelled")
    page.get_by_role("button", name="Retry", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Start at")).to_have_value("look")
    dialog.get_by_label("Start at").select_option("Build")
    dialog.get_by_role("button", name="Retry").click()
    expect(page.get_by_text(f"This task retries {task.name}.")).to_be_visible()
    new = Task.objects.get(follows=task)
    expect(page.get_by_role("heading", level=1)).to_contain_text(new.name)
    expect(page.locator(".history")).to_contain_text(f"Retries {task.name}")
    assert (world.at(new), new.inputs, new.context) == (["build"], {"goal": "better"}, {"commit": "abc"})
    page.goto(at(world, "task", task.name))
    expect(page.get_by_role("link", name=new.name)).to_be_visible()


@pytest.mark.wide
def test_who_only_looks_is_offered_no_retry(page: Page, sign_in: SignIn, world: World) -> None:
    task = at_the_manual_station(world)
    engine.cancel(task.pk, actor=engine.Actor.person(world.operator), reason="Wrong.")
    sign_in(page, world.viewer)
    page.goto(at(world, "task", task.name))
    expect(page.get_by_role("heading", level=1)).to_contain_text(task.name)
    expect(page.get_by_role("button", name="Retry")).to_have_count(0)


@pytest.mark.smoke(1)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_rejection_is_explained_and_the_end_is_connected(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World, scheme: str
) -> None:
    rule = {"id": "on", "label": "Good", "to": "ship", "gates": ["look"]}
    gate = {"key": "look", "name": "Release review"}
    task = world.start(world.line(stations=[station("build", rule), "ship"], gates=[gate]))
    world.report(task)
    world.vote(task, "reject", reason="Not <b>this</b> way.")
    context = new_context(color_scheme=scheme)
    sign_in(context, world.viewer)
    page = context.new_page()
    page.goto(at(world, "task", task.name))
    expect(page.locator(".why-sentence")).to_have_text("Release review was rejected: it ends, Failed.")
    expect(page.locator(".why-rule").first).to_contain_text("Stopped at the gate")
    expect(page.get_by_text("Matched", exact=True)).to_have_count(0)
    expect(page.get_by_text("Not <b>this</b> way.").first).to_be_visible()
    assert not _unconnected(world, task)


@pytest.mark.wide
def test_every_end_of_a_task_is_connected_on_its_map(world: World) -> None:
    """Ended by a gate, by the policy of the line, and by hand."""
    version = world.line(stations=[station("build", {"id": "on", "to": "ship"}), "ship"])
    failed, cancelled = world.start(version), world.start(version)
    world.report(failed)
    world.report(failed, {"result": "failure"})
    engine.cancel(cancelled.pk, actor=engine.Actor.person(world.operator), reason="Wrong.")
    for task in (failed, cancelled):
        assert not _unconnected(world, task), task.name


def _unconnected(world: World, task: Task) -> set[str]:
    """Ends of the task to which no edge of the map leads."""
    view = TaskView(Task.objects.get(pk=task.pk), timezone.now())
    request: Any = RequestFactory().get("/")
    request.user = world.viewer
    context = live_context(request, view)
    stations = context["drawing"].given["document"]["stations"]
    reached = {to for each in stations for rule in each["rules"] for to in listed(rule["to"])}
    onward = set(context["drawing"].given["onward"].values())
    assert {token.end for token in view.tokens if token.end} <= set(json.loads(context["path"])["places"])
    return {token.end for token in view.tokens if token.end} - reached - onward


def listed(to: Any) -> list[str]:
    return [to] if isinstance(to, str) else to


@pytest.mark.wide
def test_a_failed_template_says_what_was_missing(page: Page, sign_in: SignIn, world: World) -> None:
    """The message that is stored with the run stands on the page of the task."""
    task = world.start(world.line(stations=["build", "ship"]))
    message = "build: the template of argv asks for {{input.gaol}}, which is not there."
    world.report(task, {"result": "failure", "failure_type": "template_error", "summary": message})
    assert world.status(task) == "failed"
    sign_in(page, world.viewer)
    page.goto(at(world, "task", task.name))
    expect(page.locator("#task-live .banner").get_by_text(message)).to_be_visible()


@pytest.mark.wide
def test_what_can_happen_next_is_read_in_words_on_a_phone(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World
) -> None:
    gate = {"key": "look", "name": "Release review"}
    task = world.start(
        world.line(
            stations=[station("build", {"id": "on", "to": "ship", "gates": ["look"]}), "ship"], gates=[gate]
        )
    )
    world.report(task)
    context = new_context(viewport=PHONE)
    sign_in(context, world.viewer)
    page = context.new_page()
    page.goto(at(world, "task", task.name))
    word = page.locator(".ahead .grow").filter(has_text="Send back")
    expect(word).to_be_visible()
    lines = word.evaluate("each => each.offsetHeight / Number.parseFloat(getComputedStyle(each).lineHeight)")
    assert lines == pytest.approx(1, abs=0.2)


def test_a_move_is_planned_anew_for_each_place_and_done_by_keyboard(
    page: Page, sign_in: SignIn, world: World, tmp_path: Path
) -> None:
    task = protected(world)
    sign_in(page, world.admin)
    page.goto(f"{at(world, 'task', task.name)}#open=move-{world.token(task).pk}")
    dialog = page.get_by_role("dialog", name="Move fix")
    expect(dialog).to_contain_text("The review at Review is closed.")
    expect(dialog).to_contain_text("fix starts.")
    expect(dialog.get_by_label("To", exact=True)).to_be_focused()
    page.keyboard.press("End")
    expect(dialog).to_contain_text("merge starts.")
    expect(dialog.get_by_role("alert")).to_contain_text("without 2 approvals")
    look(page, tmp_path, "move")
    dialog.get_by_role("checkbox").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.type("Agreed by telephone")
    dialog.get_by_role("button", name="Move").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Moved", exact=True)).to_be_visible()
    assert world.at(task) == ["merge"]
