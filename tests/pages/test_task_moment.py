"""A task as it was: what its page shows of a moment of the past equals what it showed then."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from playwright.sync_api import BrowserContext, Page, Route, expect

from pipelines import engine
from pipelines.engine.commands.pauses import PauseScope, pause, resume
from pipelines.engine.core.fold import stored_row_of_task
from pipelines.errors import Refused
from pipelines.models import GateVisit, Job, Task, Token, User, Word
from pipelines.queries.observed_facts import latest_fact_rows
from pipelines.queries.task_view import TaskView
from pipelines.web.tasks.task_moment import moment_numbers, view_at
from pipelines.web.tasks.task_path import policy_endings, task_path_json_text
from pipelines.web.tasks.task_tabs import output_entries
from pipelines.work.scheduler import timers
from tests.browser.looking import look
from tests.engine.joining import on
from tests.engine.stateful import clock
from tests.factories import World, document, make_world, station
from tests.pages.conftest import As, at, text
from tests.pages.test_task_timeline import LINE, SignIn, sent_back_once, with_a_past
from tests.pages.test_waiting_for_input import ASKS
from tests.waiting import until

pytestmark = pytest.mark.django_db
FORKED = document(
    [
        on("plan", {"to": ["qa", "security"]}),
        on("qa", {"when": {"result": "failure"}, "to": "qa", "max_retries": 2}, {"to": "release"}),
        on("security", {"to": "release", "gates": ["look"]}),
        on("release", {"when": {"result": "success"}, "to": "by-hand"}, {"to": "plan"},
           join={"wait_for": ["qa", "security"]}),
        station("by-hand", kind="manual"),
    ],
    key="forked",
    gates=[{"key": "look", "name": "Code review"}],
)  # fmt: skip
OUTCOMES: list[dict[str, Any]] = [
    {"result": "success", "output": {"files": 3}, "facts": {"usage": {"cost_usd": 0.25}}},
    {"result": "success", "facts": {"tests": {"passed": 3, "failed": 1}}},
    {"result": "failure", "feedback": "it broke"},
    ASKS,
]


def picture(view: TaskView) -> dict[str, Any]:
    """What a page shows of a task, with the instant of its view as now."""
    return {
        "row": stored_row_of_task(view.task, view.tokens),
        "status": view.task.display_status,
        "path": json.loads(task_path_json_text(view, policy_endings(view))),
        "facts": latest_fact_rows(view.line, view.jobs),
        "outputs": [(entry.station, entry.text, entry.job.visit) for entry in output_entries(view)],
        "jobs": [(job.pk, job.state, job.attempt, job.started_at, job.result) for job in view.jobs],
        "visits": [(visit.pk, visit.state, visit.word, visit.decided_at) for visit in view.gate_visits],
        "spending": view.spending,
        "version": view.task.pinned_id,
    }


def now_of(task: Task) -> TaskView:
    """Return the task as it is now, read anew."""
    task = Task.objects.select_related("project__owner", "line", "pinned").get(pk=task.pk)
    return TaskView(task, task.changed_at)


def act(world: World, task: Task, chance: random.Random) -> None:
    """Do one thing that may be done, at random; what is refused changes nothing."""
    jobs = list(Job.objects.filter(task=task).exclude(state=Job.State.DONE).order_by("pk"))
    visits = list(GateVisit.objects.filter(task=task, state=GateVisit.State.OPEN).order_by("pk"))
    living = Token.objects.filter(task=task, forked=False, ended_at=None).order_by("pk")
    token = chance.choice(list(living))
    doing = chance.choices(
        ["start", "report", "vote", "move", "hold", "release", "lose"], [3, 8, 6, 2, 1, 2, 1]
    )[0]
    if doing in ("start", "report", "lose") and jobs:
        job = chance.choice(jobs)
        if job.state == Job.State.QUEUED and job.kind != "manual":
            started = engine.start_claimed_job_or_none(job.pk, world.claim())
            if started is None or doing == "start":
                return
            job = started
        if doing == "lose" and job.lease_key:
            world.expire(task)
            engine.expire_lease(job.pk, job.attempt, job.lease_key)
        elif doing == "report":
            engine.report([world.report_of(job, chance.choice(OUTCOMES))])
    elif doing == "vote" and visits:
        word = chance.choice([Word.APPROVE, Word.APPROVE, Word.SEND_BACK])
        voters = [world.person("reviewer"), world.admin]
        world.vote(task, word, by=chance.choice(voters), visit=chance.choice(visits), reason="so")
    elif doing == "move":
        stations = ["", "@success", *world_stations(task)]
        engine.move_or_retry_by_hand(
            token.pk, user=world.admin, token_version=token.version, to=chance.choice(stations)
        )
    elif doing == "hold":
        engine.hold(token.pk, user=world.operator, token_version=token.version)
    elif doing == "release":
        engine.release(token.pk, user=world.operator, token_version=token.version)


def world_stations(task: Task) -> list[str]:
    return [str(station["key"]) for station in task.pinned.document["stations"]]


def tried(world: World, seed: int, moments: int) -> int:
    """Drive random tasks, record a picture after each thing that happened, and compare all of them at the end."""
    chance = random.Random(seed)
    versions = [world.line(LINE), world.line(FORKED)]
    compared = 0
    while compared < moments:
        task = world.start(chance.choice(versions), title="random")
        pictures = {now_of(task).task.seq: picture(now_of(task))}
        for _step in range(30):
            with suppress(Refused):
                act(world, task, chance)
            view = now_of(task)
            pictures[view.task.seq] = picture(view)
            if view.task.ended_at:
                break
        last = now_of(task)
        for number, recorded in pictures.items():
            shown = picture(view_at(last, number))
            differing = {
                name: (shown[name], recorded[name]) for name in shown if shown[name] != recorded[name]
            }
            assert not differing, f"seed {seed}, {task.name} at {number}"
        compared += len(pictures)
    return compared


@pytest.mark.smoke(1)
@pytest.mark.moves
@pytest.mark.parametrize("seed", [11, 18])
def test_each_moment_is_later_shown_as_it_was_then(world: World, seed: int) -> None:
    assert tried(world, seed, 60) >= 60


@pytest.mark.soak
@pytest.mark.moves
@pytest.mark.parametrize("seed", range(10, 20))
def test_a_thousand_moments_are_shown_as_they_were(world: World, seed: int) -> None:
    assert tried(world, seed, 100) >= 100


def part_of(page: str, name: str) -> str:
    return page.partition(f'id="{name}"')[2]


def test_the_page_shows_the_moment_of_its_address_without_a_script(world: World, signed_in: As) -> None:
    task = sent_back_once(world)
    task.refresh_from_db()
    client, address = signed_in(world.viewer), at(world, "task", task.name)
    steps = moment_numbers(now_of(task).events)
    first_gate = task.events.filter(kind="gate.opened").order_by("seq")[0].seq
    step = next(place for place, number in enumerate(steps, 1) if number >= first_gate)
    page = text(client.get(address, {"at": first_gate}))
    moment = re.sub(r"<[^>]+>", " ", part_of(page, "moment")[:4_000])
    assert "As of" in moment and "Code review" in moment and "$0.64" in moment
    assert f'value="{step}"' in part_of(page, "moment-range")[:200]
    assert "gantt-cursor" in page and "Back to now" in page
    for link in (steps[step - 2], steps[step]):
        assert f'href="?at={link}#timeline"' in page
    for now in ("", "0", "-3", str(task.seq), "99999", "none", "1" * 5_000):
        page = text(client.get(address, {"at": now}))
        assert "Back to now" not in page and f"?at={steps[-2]}#timeline" in page, now
    first = text(client.get(address, {"at": 1}))
    assert re.search(r'<button[^>]*disabled[^>]*aria-label="Previous moment"', first)


def test_the_place_of_the_slider_leads_to_its_moment(world: World, signed_in: As) -> None:
    task = sent_back_once(world)
    client, address = signed_in(world.viewer), at(world, "task", task.name)
    steps = moment_numbers(now_of(task).events)
    shown = client.get(address, {"step": 3})
    assert (shown.status_code, shown["Location"]) == (302, f"{address}?at={steps[2]}#timeline")
    for now in ("", "0", str(len(steps)), "99999", "x"):
        assert client.get(address, {"step": now})["Location"] == f"{address}#timeline", now


def test_a_part_of_the_page_shows_the_moment_and_keeps_the_rest_of_the_address(
    world: World, signed_in: As
) -> None:
    task = sent_back_once(world)
    client, address = signed_in(world.viewer), at(world, "task", task.name)
    number = moment_numbers(now_of(task).events)[2]
    for fragment in ("moment", "live"):
        asked = {"step": 3, "fragment": fragment}
        there = {"HX-Request": "true", "HX-Current-URL": f"http://testserver{address}?tab=events"}
        answer = client.get(address, asked, headers=there)
        assert "Back to now" in text(answer), "a hint leaves the moment where it is"
        assert answer["HX-Replace-Url"] == f"{address}?tab=events&at={number}"
        again = client.get(
            address, asked, headers=there | {"HX-Current-URL": f"http://testserver{address}?at={number}"}
        )
        assert "HX-Replace-Url" not in again
        back = client.get(
            address,
            {"fragment": fragment},
            headers=there | {"HX-Current-URL": f"http://testserver{address}?at={number}"},
        )
        assert back["HX-Replace-Url"] == address and "Back to now" not in text(back)
        for elsewhere in ("http://[", "http://testserver/", "x" * 9_000, ""):
            odd = client.get(address, asked, headers=there | {"HX-Current-URL": elsewhere})
            assert odd.status_code == 200 and "HX-Replace-Url" not in odd, elsewhere


def test_a_moment_of_another_owner_is_not_there(world: World, signed_in: As) -> None:
    task, theirs = sent_back_once(world), make_world()
    for fragment in ({}, {"fragment": "moment"}):
        client = signed_in(theirs.admin)
        assert client.get(at(world, "task", task.name), {"at": 2, **fragment}).status_code == 404


def test_a_pause_of_then_has_its_mark(world: World, signed_in: As) -> None:
    task = world.start(world.line(LINE))
    scope = PauseScope(world.project)
    world.started(task)
    pause(scope, user=world.operator, reason="Release day")
    world.report(task)
    during = now_of(task).task.seq
    resume(scope, user=world.operator)
    timers.run_due_timers_and_triggers()
    world.report(task)
    client, address = signed_in(world.viewer), at(world, "task", task.name)
    page = text(client.get(address, {"at": during}))
    moment = part_of(page, "moment").partition("</section>")[0]
    assert "Paused" in moment and "Release day" in moment
    before = view_at(now_of(task), 1)
    assert before.pauses == [] and [row.reason for row in view_at(now_of(task), during).pauses] == [
        "Release day"
    ]
    now = text(client.get(address))
    assert "Release day" not in part_of(now, "task-live").partition('id="timeline"')[0]


def test_who_may_operate_forks_from_the_moment(world: World, signed_in: As) -> None:
    task = sent_back_once(world)
    address = at(world, "task", task.name)
    for user, shown in ((world.operator, True), (world.viewer, False)):
        page = text(signed_in(user).get(address, {"at": 5}))
        actions = part_of(page, "moment-actions").partition("</section>")[0]
        number = next(step for step in moment_numbers(now_of(task).events) if step >= 5)
        fork = at(world, "task-fork", task.name) + f"?at={number}"
        assert (f'href="{fork}"' in actions) is shown, user


def last_moment(task: Task) -> int:
    """Return the last event before now."""
    return moment_numbers(now_of(task).events)[-2]


def test_as_many_statements_for_a_long_task_as_for_a_short_one(world: World, signed_in: As) -> None:
    client = signed_in(world.viewer)
    short, long = sent_back_once(world), sent_back_once(world)
    long.refresh_from_db()
    reviewer = User.objects.filter(username__startswith="reviewer").order_by("-pk")[0]
    world.vote(long, "send_back", by=reviewer, reason="again")
    world.report(long, {"result": "failure", "feedback": "it broke"})
    world.report(long)
    world.vote(long, "send_back", by=reviewer, reason="once more")
    world.report(long)

    def statements(task: Task, **query: Any) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert client.get(at(world, "task", task.name), query).status_code == 200
        return len(queries)

    ends = {task: last_moment(task) for task in (short, long)}
    assert ends[long] > ends[short] + 8
    for more in ({}, {"fragment": "moment"}):
        # What a process keeps of each line is read once
        for task in ends:
            statements(task, at=6, **more)
        counts = {statements(task, at=number, **more) for task in ends for number in (6, ends[task])}
        assert len(counts) == 1, counts


def shown_moment(page: Page) -> int:
    return int(re.findall(r"at=(\d+)", page.url)[0])


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_the_slider_goes_through_the_past_and_no_hint_draws_over_it(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World, tmp_path: Path
) -> None:
    with clock.installed():
        task = with_a_past(world)
    page = new_context().new_page()
    sign_in(page, world.operator)
    page.goto(at(world, "task", task.name))
    expect(page.locator("#task-drawing svg").first).to_be_visible()
    slider, moment = page.get_by_role("slider", name="Moment"), page.locator("#moment")
    steps = moment_numbers(now_of(task).events)
    expect(slider).to_have_value(str(len(steps)))
    path_now = page.locator("#task-path").get_attribute("data-told") or ""
    # By keys: each press is one moment, however many events that has
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile(rf"\?at={steps[-2]}$"))
    expect(moment.get_by_role("heading", name="As of")).to_be_visible()
    expect(slider).to_be_focused()
    page.keyboard.press("Home")
    expect(page).to_have_url(re.compile(rf"\?at={steps[0]}$"))
    expect(page.get_by_role("button", name="Previous moment")).to_be_disabled()
    page.keyboard.press("End")
    expect(moment.get_by_role("heading")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("at="))
    # By buttons
    for _click in range(4):
        page.get_by_role("link", name="Previous moment").click()
    expect(page).to_have_url(re.compile(rf"\?at={steps[-5]}$"))
    page.get_by_role("link", name="Next moment").press("Enter")
    expect(page).to_have_url(re.compile(rf"\?at={steps[-4]}$"))
    expect(page.get_by_role("link", name="Next moment")).to_be_focused()
    # By mouse
    box = slider.bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] * 0.4, box["y"] + box["height"] / 2)
    expect(page).not_to_have_url(re.compile(rf"\?at={steps[-4]}$"))
    number = shown_moment(page)
    assert 1 < number < steps[-5]
    expect(page.locator("#moment-words")).to_contain_text(f"event {number} of {steps[-1]}")
    expect(page.locator("#task-path")).not_to_have_attribute("data-told", path_now)
    expect(page.locator(".gantt-cursor").first).to_be_attached()
    look(page, tmp_path, "moment")
    told = page.locator("#task-path").get_attribute("data-told") or ""
    # A move of now
    second = User.objects.filter(username__startswith="reviewer").order_by("pk")[1]
    world.vote(task, by=second)
    expect(page.locator("#timeline").get_by_role("link", name="ship")).to_be_visible()
    expect(moment.get_by_role("heading", name="As of")).to_be_visible()
    expect(page.locator("#task-path")).to_have_attribute("data-told", told)
    assert shown_moment(page) == number
    # The address keeps it
    page.reload()
    expect(moment.get_by_role("heading", name="As of")).to_be_visible()
    expect(slider).to_have_value(str(steps.index(number) + 1))
    moment.get_by_role("link", name="Fork from here").click()
    expect(page).to_have_url(re.compile(rf"/fork/\?at={number}$"))
    page.go_back()
    page.get_by_role("link", name="Back to now").click()
    expect(moment.get_by_role("heading")).to_have_count(0)
    expect(page.locator("#task-path")).not_to_have_attribute("data-told", told)
    assert "at=" not in page.url


@pytest.mark.wide
@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_an_answer_that_was_on_its_way_does_not_draw_over_the_moment(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World
) -> None:
    """What the page asked for before the slider was moved comes after what the slider asked for."""
    task = sent_back_once(world)
    page = new_context().new_page()
    sign_in(page, world.viewer)
    page.goto(at(world, "task", task.name))
    expect(page.locator("#task-drawing svg").first).to_be_visible()
    slider, moment = page.get_by_role("slider", name="Moment"), page.locator("#moment")
    steps = moment_numbers(now_of(task).events)
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        # The first one waits, all that come after it pass
        waiting.append(route) if not waiting else route.continue_()

    page.route(re.compile("fragment=live"), hold)
    page.evaluate("() => document.body.dispatchEvent(new CustomEvent('gl:resync'))")
    until(lambda: waiting, "the request", page)
    slider.press("ArrowLeft")
    expect(page).to_have_url(re.compile(rf"\?at={steps[-2]}$"))
    told = page.locator("#task-path").get_attribute("data-told") or ""
    page.evaluate("document.addEventListener('htmx:afterRequest', () => document.body.dataset.answered = '')")
    waiting[0].continue_()
    expect(page.locator("body[data-answered]")).to_be_attached()
    world.vote(task, "send_back", by=User.objects.filter(username__startswith="reviewer")[0], reason="more")
    expect(page.locator("#timeline").locator(".gantt-remark", has_text="sent it back: more")).to_be_visible()
    expect(moment.get_by_role("heading", name="As of")).to_be_visible()
    expect(page.locator("#task-path")).to_have_attribute("data-told", told)
    expect(slider).to_have_value(str(len(steps) - 1))
    assert shown_moment(page) == steps[-2]


@pytest.mark.wide
@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_without_a_script_a_button_shows_the_moment(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World
) -> None:
    task = sent_back_once(world)
    page = new_context(java_script_enabled=False).new_page()
    sign_in(page, world.viewer)
    page.goto(at(world, "task", task.name))
    steps = moment_numbers(now_of(task).events)
    page.get_by_role("slider", name="Moment").press("ArrowLeft")
    page.locator("#scrubber").get_by_role("button", name="Show").click()
    assert shown_moment(page) == steps[-2]
    expect(page.get_by_role("heading", name="As of")).to_be_visible()
    page.get_by_role("link", name="Previous moment").click()
    assert shown_moment(page) == steps[-3]
    page.get_by_role("link", name="Back to now").click()
    expect(page.get_by_role("heading", name="As of")).to_have_count(0)
