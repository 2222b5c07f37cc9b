"""Terminal is final: an ended task is retried as a new task that is linked to it (law §12)."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from pipelines import engine
from pipelines.engine.commands import linked_tasks
from pipelines.errors import Conflict, Forbidden, Invalid, NotFound
from pipelines.models import LineVersion, Task, Token
from tests.engine.test_races import at_once
from tests.factories import World, document, station

pytestmark = [pytest.mark.django_db, pytest.mark.moves]


def line_of(world: World, **more: Any) -> LineVersion:
    """build → (look) → ship → completed; a failure fails the task."""
    return world.line(
        document(
            stations=[
                station("build", {"id": "on", "to": "ship", "gates": ["look"]}),
                station("ship", {"id": "end", "to": "completed", "when": {"result": "success"}}),
            ],
            gates=[{"key": "look", "name": "Look"}],
            inputs=[{"key": "goal"}],
            **more,
        )
    )


def failed(world: World, **more: Any) -> Task:
    task = world.start(
        line_of(world), inputs={"goal": "better"}, description="Show all", labels=["a"], **more
    )
    world.report(task, {"result": "success", "output": {"commit": "abc"}})
    world.vote(task)
    world.report(task, {"result": "failure"})
    task.refresh_from_db()
    assert task.status == "failed"
    return task


def retry(world: World, task: Task, station: str, **more: Any) -> Task:
    said = {"reason": "The network was down.", **more}
    return engine.start_retry_task(
        task.pk, station=station, actor=engine.Actor.person(world.operator), **said
    )


def test_a_retry_is_a_new_task_that_begins_at_the_station(world: World) -> None:
    old = failed(world, by=world.admin)
    new = retry(world, old, "ship")
    assert (new.name, world.at(new), new.status) == (f"WI-{world.project.key}-2", ["ship"], "queued")
    assert (new.follows, new.retry_of, new.pinned) == (old, old.jobs.get(station="ship"), old.pinned)
    assert (new.inputs, new.context) == ({"goal": "better"}, {"commit": "abc"})
    assert (new.title, new.description, new.labels) == ("A task", "Show all", ["a"])
    assert new.requester == world.admin
    assert (new.visits, new.edges, new.rules, new.rounds) == ({"ship": 1}, {}, {}, {})
    event = new.events.get()
    assert (event.kind, event.trigger, event.data["follows"]) == ("task.submitted", "retry", old.name)
    assert event.data["reason"] == "The network was down."
    assert event.actor == str(engine.Actor.person(world.operator))


def test_the_old_task_stays_as_it_ended(world: World) -> None:
    old = failed(world)
    before = (Task.objects.filter(pk=old.pk).values().get(), old.events.count())
    retry(world, old, "ship")
    assert (Task.objects.filter(pk=old.pk).values().get(), old.events.count()) == before


def test_a_retry_inherits_no_approval(world: World) -> None:
    old = failed(world)
    new = retry(world, old, "build")
    world.report(new, {"result": "success", "output": {"commit": "abc"}})
    assert world.status(new) == "awaiting_review"
    assert not new.gate_visits.get().votes.exists()
    with pytest.raises(Forbidden):
        world.vote(new, by=world.operator)
    world.vote(new)
    assert world.at(new) == ["ship"]


@pytest.mark.wide
def test_what_was_rejected_is_asked_again(world: World) -> None:
    """A rejection holds the same again in its own task only: the past of a retry is empty."""
    old = world.start(line_of(world))
    world.report(old, {"result": "success", "output": {"n": 1}})
    world.vote(old, "reject", reason="No.")
    assert world.status(old) == "failed"
    new = retry(world, old, "build")
    world.report(new, {"result": "success", "output": {"n": 1}})
    assert world.status(new) == "awaiting_review"


def test_a_retry_can_be_retried(world: World) -> None:
    first = failed(world)
    second = retry(world, first, "ship")
    world.report(second, {"result": "failure"})
    second.refresh_from_db()
    third = retry(world, second, "ship")
    assert (third.follows, third.context) == (second, {"commit": "abc"})
    world.report(third)
    assert world.status(third) == "completed"


@pytest.mark.parametrize("end", ["completed", "cancelled"])
def test_whatever_ended_can_be_retried(world: World, end: str) -> None:
    task = world.start(world.line())
    if end == "completed":
        world.report(task)
        world.report(task)
    else:
        engine.cancel(task.pk, actor=engine.Actor.person(world.operator))
    assert world.status(task) == end
    assert world.at(retry(world, task, "build")) == ["build"]


def test_a_retry_begins_before_the_fork_not_in_one_branch_of_it(world: World) -> None:
    stations = [
        station("build", {"id": "fork", "to": ["left", "right"]}),
        station("left", {"id": "l", "to": "meet", "when": {"result": "success"}}),
        station("right", {"id": "r", "to": "meet"}),
        station("meet", {"id": "m", "to": "completed"}, join={"wait_for": ["left", "right"]}),
    ]
    task = world.start(world.line(stations=stations))
    world.report(task)
    engine.cancel(task.pk, actor=engine.Actor.person(world.operator))
    assert linked_tasks.retryable_station_keys(task) == ["build"]
    with pytest.raises(Invalid):
        retry(world, task, "left")
    new = retry(world, task, "build")
    for key in ("build", "left", "right", "meet"):
        world.report(new, station=key)
    assert world.status(new) == "completed"
    assert linked_tasks.retryable_station_keys(new) == ["meet", "build"]


def test_what_goes_on_is_not_retried_so(world: World) -> None:
    task = world.start(world.line())
    with pytest.raises(Conflict, match="has not ended"):
        retry(world, task, "build")
    with pytest.raises(NotFound):
        engine.start_retry_task(0, station="build", actor=engine.ENGINE)


@pytest.mark.parametrize("station", ["ship", "nowhere"])
def test_only_a_station_that_was_visited_is_retried(world: World, station: str) -> None:
    task = world.start(world.line())
    engine.cancel(task.pk, actor=engine.ENGINE)
    with pytest.raises(Invalid) as fault:
        retry(world, task, station)
    assert [problem.path for problem in fault.value.problems] == ["station"]
    assert Task.objects.count() == 1


def test_one_retry_from_a_station_at_a_time(world: World) -> None:
    old = failed(world)
    first = retry(world, old, "ship")
    with pytest.raises(Conflict, match=first.name):
        retry(world, old, "ship")
    assert world.at(retry(world, old, "build")) == ["build"]
    world.report(first)
    assert world.status(first) == "completed"
    assert retry(world, old, "ship").follows == old


@pytest.mark.wide
@pytest.mark.django_db(transaction=True)
def test_of_two_who_retry_at_once_one_is_told(world: World) -> None:
    old = failed(world)
    again = partial(
        engine.start_retry_task, old.pk, station="ship", actor=engine.Actor.person(world.operator)
    )

    def attempt() -> str:
        try:
            return again().name
        except Conflict:
            return "late"

    found = at_once([attempt, attempt])
    assert found.count("late") == 1
    assert Token.objects.filter(task__follows=old).count() == 1
