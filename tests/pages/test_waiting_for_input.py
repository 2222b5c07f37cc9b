"""Who waits for a person to give something is shown so: by the API, in lists, counts and filters (law §12, Waiting)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from pipelines import engine
from pipelines.models import Job, Task
from pipelines.queries import tasks as tables
from pipelines.queries.board import Filters, line_board
from pipelines.work.scheduler import timers
from tests.factories import World, station
from tests.reviews.test_pages import as_

pytestmark = pytest.mark.django_db

INPUT = "waiting_for_input"
ASKS = {"result": "success", "signals": [{"verdict": "hold", "meta": {"question": "Which colour?"}}]}


def by_hand(world: World) -> Task:
    return world.start(world.line(stations=[station("sign", kind="manual")], key="byhand"), title="Sign")


def asking(world: World) -> Task:
    task = world.start(world.line(stations=["paint"], key="asking"), title="Paint")
    world.report(task, ASKS)
    return task


def blocked(world: World) -> Task:
    """Without a question."""
    task = world.start(world.line(stations=["pack"], key="blocked"), title="Pack")
    world.report(task, {"result": "blocked", "summary": "The van is full."})
    return task


def running(world: World) -> Task:
    task = world.start(world.line(stations=["run"], key="running"), title="Run")
    world.started(task)
    return task


def forked(world: World, *outcomes: dict[str, Any] | None) -> Task:
    """A branch for each outcome; None: its job runs. The last one is a person's, which is open."""
    keys = [f"b{n}" for n in range(len(outcomes))]
    branches = [station(key, {"id": key, "when": {"result": "success"}, "to": "completed"}) for key in keys]
    hand = station("hand", {"id": "hand", "to": "completed"}, kind="manual")
    plan = station("plan", {"id": "all", "to": [*keys, "hand"]})
    task = world.start(world.line(stations=[plan, *branches, hand], key="forked"), title="Fork")
    world.report(task)
    for key, outcome in zip(keys, outcomes, strict=True):
        if outcome is None:
            world.started(task, key)
        else:
            world.report(task, outcome, station=key)
    return task


def display(task: Task) -> str:
    return Task.objects.get(pk=task.pk).display_status


def test_it_is_derived_and_never_stored(world: World) -> None:
    told = {task.title: (task.status, display(task)) for task in (by_hand(world), asking(world))}
    assert {title: shown for title, (_status, shown) in told.items()} == {"Sign": INPUT, "Paint": INPUT}
    assert (world.status(Task.objects.get(title="Sign")), world.status(Task.objects.get(title="Paint"))) == (
        "running",
        "blocked",
    )
    assert (display(blocked(world)), display(running(world))) == ("blocked", "running")


@pytest.mark.parametrize(
    ("outcomes", "shown"),
    [
        ((None,), INPUT),
        ((ASKS,), INPUT),
        ((ASKS, None), INPUT),
        (({"result": "blocked"}, ASKS), "blocked"),
        (({"result": "failure"},), INPUT),
    ],
)
def test_it_ranks_after_what_is_worse_and_before_what_runs(
    world: World, outcomes: tuple[dict[str, Any] | None, ...], shown: str
) -> None:
    assert display(forked(world, *outcomes)) == shown


def test_a_review_and_a_hold_come_before_it(world: World) -> None:
    ask = station("ask", {"id": "ask", "to": "completed"})
    build = station("build", {"id": "on", "to": "completed", "gates": ["review"]})
    plan = station("plan", {"id": "all", "to": ["ask", "build"]})
    gate = {"key": "review", "name": "Review", "mode": "manual"}
    task = world.start(world.line(stations=[plan, ask, build], gates=[gate]))
    world.report(task)
    world.report(task, ASKS, station="ask")
    assert display(task) == INPUT
    world.report(task, station="build")
    assert (world.status(task), display(task)) == ("blocked", "awaiting_review")
    world.vote(task, "send_back", reason="Again.")
    token = world.token(task, "build")
    engine.hold(token.pk, user=world.operator, token_version=token.version)
    assert (world.status(task), display(task)) == ("blocked", "held")


def test_what_was_given_ends_it(world: World) -> None:
    task = asking(world)
    token = world.token(task)
    engine.answer_blocked_token(token.pk, user=world.operator, token_version=token.version, text="Blue.")
    assert display(task) == "queued"
    task = by_hand(world)
    world.report(task)
    assert display(task) == "completed"


def test_the_api_says_so_and_finds_them(world: World) -> None:
    task, other = by_hand(world), running(world)
    _, secret = world.token_of(world.viewer, "read")
    more: dict[str, Any] = {"headers": {"Authorization": f"Bearer {secret}"}}

    def stages(each: Task) -> str:
        return (
            f"/api/owners/{each.project.owner.key}/projects/{each.project.key}/stages/{each.line.key}/tasks"
        )

    told = Client().get(f"{stages(task)}/{task.name}", **more).json()
    assert (told["status"], told["display_status"]) == ("running", INPUT)
    found = Client().get(f"{stages(task)}?display_status={INPUT}", **more).json()
    assert [(each["id"], each["display_status"]) for each in found] == [(task.name, INPUT)]
    assert Client().get(f"{stages(other)}?display_status={INPUT}", **more).json() == []
    assert Client().get(f"{stages(task)}?display_status=running", **more).json() == []


def test_it_is_counted_as_waiting_and_never_as_running(world: World) -> None:
    tasks = [by_hand(world), asking(world), running(world)]
    by_line = tables.displayed_status_counts_by_line([world.project])
    assert sum(by_line.values(), Counter()) == {INPUT: 2, "running": 1}
    sign = line_board(tasks[0].line, Filters(), timezone.now())
    assert [sign.counts[name] for name in ("running", "waiting", "input", "blocked")] == [0, 1, 1, 0]
    for show, expected in (("running", 0), ("waiting", 1), ("input", 1), ("blocked", 0)):
        assert line_board(tasks[0].line, Filters(show=show), timezone.now()).shown == expected
    client, place = as_(world.operator), [world.project.owner.key, world.project.key]
    for status, titles in ((INPUT, {"Sign", "Paint"}), ("running", {"Run"}), ("blocked", set())):
        page = client.get(reverse("tasks", args=place), {"status": status}).content.decode()
        assert {title for title in ("Sign", "Paint", "Run") if f">{title}</a>" in page} == titles
    page = client.get(reverse("line-live", args=[*place, "byhand"]), {"show": "input"}).content.decode()
    assert "Waiting for input" in page
    assert 'data-status="running"' not in page


@pytest.mark.wide
def test_a_list_takes_as_many_statements_for_many(world: World) -> None:
    line = by_hand(world).pinned
    _, secret = world.token_of(world.viewer, "read")
    project = world.project
    address = f"/api/owners/{project.owner.key}/projects/{project.key}/stages/{line.line.key}/tasks"

    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert Client().get(address, headers={"Authorization": f"Bearer {secret}"}).status_code == 200
        return len(queries)

    asked()
    before = asked()
    for _ in range(10):
        world.start(line)
    assert asked() == before


@pytest.mark.wide
@pytest.mark.parametrize("how", ["cancelled", "failed"])
def test_a_failed_dependency_holds_for_a_person_and_says_so(world: World, how: str) -> None:
    """On the task page, the board and in the inbox; it is released, or cancelled."""
    failing = station("build", {"id": "on", "when": {"result": "success"}, "to": "completed"})
    version = world.line(stations=[failing])
    other, open_one = world.start(version), world.start(version)
    task = world.start(version, depends_on=[other.name, open_one.name])
    if how == "failed":
        world.report(other, {"result": "failure"})
    else:
        engine.cancel(other.pk, actor=engine.ENGINE)
    timers.run_due_timers_and_triggers()
    assert world.token(task).wait == {"depends_on": [other.name, open_one.name], "failed": [other.name]}
    client, place = as_(world.operator), [world.project.owner.key, world.project.key]
    said = f"It waits for {other.name}, which failed or was cancelled."
    for address in (
        reverse("task", args=[*place, task.name]),
        reverse("line-live", args=[*place, "line"]),
        reverse("needs-me"),
    ):
        page = client.get(address).content.decode()
        assert said in page
        assert "Continues automatically" not in page
    world.report(open_one)
    timers.run_due_timers_and_triggers()
    assert world.token(task).wait == {"depends_on": [other.name], "failed": [other.name]}
    token = world.token(task)
    engine.release(token.pk, user=world.operator, token_version=token.version)
    assert world.job(task).state == Job.State.QUEUED
    assert world.status(task) == "queued"


def test_one_that_had_failed_before_holds_from_the_start(world: World) -> None:
    version = world.line(stations=["build", "ship"])
    other = world.start(version)
    engine.cancel(other.pk, actor=engine.ENGINE)
    task, running = world.start(version, depends_on=[other.name]), world.start(version)
    assert world.token(task).wait["failed"] == [other.name]
    world.started(running)
    engine.wait_for_tasks(running.pk, [other.name], actor=engine.Actor.person(world.operator))
    world.report(running)
    assert (world.at(running), world.token(running).wait["failed"]) == (["ship"], [other.name])
