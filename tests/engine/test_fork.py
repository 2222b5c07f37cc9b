"""A fork is a linked task from a moment of another one, with an empty past (law §17)."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines import engine
from pipelines.engine.invariants import find_violations
from pipelines.errors import Conflict, Forbidden, Invalid, NotFound
from pipelines.models import Event, LineVersion, Task
from tests.factories import World, document, make_member, make_project, station

pytestmark = [pytest.mark.django_db, pytest.mark.moves]

PROMISE = {"id": "looked", "never": {"reach": "ship", "without": "look"}}


def line_of(world: World, **more: Any) -> LineVersion:
    """build → (look) → ship → completed."""
    stations = [
        station("build", {"id": "on", "to": "ship", "gates": ["look"]}),
        station("ship", {"id": "end", "to": "completed", "when": {"result": "success"}}),
    ]
    gates = [{"key": "look", "name": "Look"}]
    return world.line(document(stations=stations, gates=gates, inputs=[{"key": "goal"}], **more))


def forked_line(world: World, aggregation: str = "any-pass") -> LineVersion:
    """build → left and right → meet."""
    stations = [
        station("build", {"id": "fork", "to": ["left", "right"]}),
        station("left", {"id": "l", "to": "meet"}),
        station("right", {"id": "r", "to": "meet"}),
        station(
            "meet",
            {"id": "m", "to": "completed", "when": {"result": "success"}},
            join={"wait_for": ["left", "right"], "aggregation": aggregation},
        ),
    ]
    return world.line(stations=stations)


def shipping(world: World, **more: Any) -> Task:
    """At `ship`, behind its gate."""
    task = world.start(
        line_of(world, **more), by=world.admin, inputs={"goal": "better"}, description="Show all"
    )
    world.report(task, {"result": "success", "output": {"commit": "abc"}})
    world.vote(task)
    assert world.at(task) == ["ship"]
    task.refresh_from_db()
    return task


def number(task: Task, kind: str) -> int:
    return Event.objects.filter(task=task, kind=kind).earliest("seq").seq


def fork(world: World, task: Task, **more: Any) -> Task:
    return engine.fork(task.pk, user=world.operator, **more)


def test_a_fork_begins_where_the_task_stood_while_that_goes_on(world: World) -> None:
    old = shipping(world)
    new = fork(world, old, reason="Another way.")
    assert (new.follows, new.fork_event, new.pinned) == (old, old.seq, old.pinned)
    assert (world.at(new), new.status, new.visits) == (["ship"], "queued", {"ship": 1})
    assert (new.edges, new.rules, new.rounds, new.gate_visits.count()) == ({}, {}, {}, 0)
    assert (new.inputs, new.context, new.title) == ({"goal": "better"}, {"commit": "abc"}, "A task")
    assert (new.requester, new.requesters) == (world.operator, [f"person:{world.admin.pk}"])
    begun = new.events.get()
    assert (begun.kind, begun.trigger, begun.data["follows"]) == ("task.submitted", "fork", old.name)
    assert (begun.data["moment"], begun.data["reason"], begun.data["by"]) == (old.seq, "Another way.", "hand")
    told = old.events.latest("seq")
    assert (told.kind, told.data["fork"], told.data["moment"]) == ("task.forked", new.name, old.seq)
    assert told.actor == begun.actor == f"person:{world.operator.pk}"
    for task in (old, new):
        world.report(task)
        assert world.status(task) == "completed"
    assert find_violations() == []


def test_a_fork_has_the_data_of_its_moment_and_asks_every_gate_again(world: World) -> None:
    old = shipping(world)
    new = fork(world, old, at=1)
    assert (world.at(new), new.context) == (["build"], {})
    world.report(new, {"result": "success", "output": {"commit": "def"}})
    assert world.status(new) == "awaiting_review"
    assert not new.gate_visits.get().votes.exists()
    old.refresh_from_db()
    assert (old.context, new.fork_event) == ({"commit": "abc"}, 1)


@pytest.mark.parametrize("status", ["awaiting_review", "held", "completed", "cancelled"])
def test_any_task_can_be_forked_whatever_it_waits_for(world: World, status: str) -> None:
    old = world.start(line_of(world), inputs={"goal": "x"})
    if status == "held":
        engine.hold(world.token(old).pk, user=world.operator, token_version=world.token(old).version)
    elif status == "cancelled":
        engine.cancel(old.pk, actor=engine.ENGINE)
    else:
        world.report(old)
        if status == "completed":
            world.vote(old)
            world.report(old)
    assert world.status(old) == status
    new = fork(world, old)
    assert world.at(new) == (["ship"] if status == "completed" else ["build"])
    assert (world.status(new), world.status(old)) == ("queued", status)
    assert find_violations() == []


def test_behind_a_fork_a_branch_is_named_and_meets_nobody(world: World) -> None:
    old = world.start(forked_line(world))
    world.report(old)
    old.refresh_from_db()
    left, right = (world.token(old, key) for key in ("left", "right"))
    with pytest.raises(Invalid) as fault:
        fork(world, old, at=old.seq)
    assert fault.value.path == "position"
    assert f"{left.pk} (left)" in fault.value.problems[0].hint
    new = fork(world, old, position=right.pk)
    assert world.at(new) == ["right"]
    assert engine.plan_fork(old.pk, user=world.operator, position=right.pk).alone
    world.report(new)
    # Nothing comes from the left: it counts as failed, and one that passed is enough here (law §7)
    assert world.at(new) == ["meet"]
    world.report(new)
    assert world.status(new) == "completed"
    assert world.at(old) == ["left", "right"]
    assert find_violations() == []


def test_a_join_that_wants_all_branches_fails_for_one_alone(world: World) -> None:
    old = world.start(forked_line(world, "all-pass"))
    world.report(old)
    new = fork(world, old, position=world.token(old, "left").pk)
    world.report(new)
    assert world.status(new) == "failed"
    assert find_violations() == []


def test_the_event_of_a_branch_says_which_is_meant(world: World) -> None:
    old = world.start(forked_line(world))
    world.report(old)
    world.started(old, "right")
    moment = old.events.latest("seq")
    assert moment.kind == "job.started"
    assert world.at(fork(world, old, at=moment.seq)) == ["right"]


def test_after_the_end_the_branches_are_those_that_ended(world: World) -> None:
    old = world.start(forked_line(world))
    world.report(old)
    branches = {key: world.token(old, key).pk for key in ("left", "right")}
    engine.cancel(old.pk, actor=engine.ENGINE)
    for key, token in branches.items():
        assert world.at(fork(world, old, position=token)) == [key]


def test_a_person_may_choose_where_it_begins(world: World) -> None:
    old = shipping(world)
    assert world.at(fork(world, old, station="build")) == ["build"]
    for station_key in ("nowhere", "x" * 500):
        with pytest.raises(Invalid) as fault:
            fork(world, old, station=station_key)
        assert fault.value.path == "station"
        assert "build, ship" in fault.value.problems[0].hint


@pytest.mark.parametrize("at", [0, -1, 99, 2**31, 2**80])
def test_a_moment_that_there_is_not_is_named(world: World, at: int) -> None:
    old = shipping(world)
    before = (Task.objects.count(), Event.objects.count())
    with pytest.raises(Invalid) as fault:
        fork(world, old, at=at)
    assert fault.value.path == "at"
    assert f"1 to {old.seq}" in fault.value.problems[0].hint
    with pytest.raises(Invalid):
        fork(world, old, position=2**70)
    assert (Task.objects.count(), Event.objects.count()) == before
    with pytest.raises(NotFound):
        engine.fork(0, user=world.operator)


def test_a_station_that_the_version_has_no_more_is_refused_with_those_it_has(world: World) -> None:
    old = shipping(world)
    stations = [
        station("build", {"id": "on", "to": "send"}),
        station("send", {"id": "end", "to": "completed"}),
    ]
    version = world.line(document(stations=stations, inputs=[{"key": "goal"}]))
    moved = engine.TaskMigration(old.pk, version.pk, {"ship": "send"})
    assert engine.migrate([moved], engine.Actor.person(world.designer))[0].status == "migrated"
    with pytest.raises(Invalid) as fault:
        fork(world, old, at=number(old, "token.moved"))
    assert fault.value.path == "station"
    assert "build, send" in fault.value.problems[0].hint
    new = fork(world, old, at=number(old, "token.moved"), station="send")
    assert (world.at(new), new.pinned) == (["send"], version)


def test_a_plan_does_nothing_and_says_what_the_fork_does(world: World) -> None:
    old = shipping(world, guarantees=[PROMISE])
    before = (Task.objects.count(), Event.objects.count(), old.seq)
    plan = engine.plan_fork(old.pk, user=world.operator)
    assert (plan.station, plan.status, plan.moment.number, plan.position.station) == (
        "ship",
        "queued",
        old.seq,
        "ship",
    )
    assert (plan.asks, plan.breaks) == (("completed",), ("looked",))
    old.refresh_from_db()
    assert (Task.objects.count(), Event.objects.count(), old.seq) == before
    assert engine.plan_fork(old.pk, user=world.operator, at=1).breaks == ()


def test_what_the_line_promises_is_broken_by_an_administrator_alone(world: World) -> None:
    """The gate was passed in the other task; the past of the fork is empty."""
    old = shipping(world, guarantees=[PROMISE])
    with pytest.raises(Invalid, match="Confirm what this fork breaks"):
        fork(world, old)
    with pytest.raises(Forbidden):
        fork(world, old, accepts=["looked"], reason="So.")
    with pytest.raises(Invalid, match="reason"):
        engine.fork(old.pk, user=world.admin, accepts=["looked"])
    new = engine.fork(old.pk, user=world.admin, accepts=["looked"], reason="So.")
    assert new.events.get().data["breaks"] == ["looked"]
    assert fork(world, old, station="build").visits == {"build": 1}


def test_whoever_forks_and_whoever_asked_before_do_not_approve(world: World) -> None:
    asked, forks = (make_member(world.project, "reviewer", name) for name in ("asked", "forks"))
    old = world.start(line_of(world), by=asked, inputs={"goal": "x"})
    new = engine.fork(old.pk, user=forks)
    world.report(new)
    for person in (asked, forks):
        with pytest.raises(Forbidden):
            world.vote(new, by=person)
    world.vote(new)
    assert world.at(new) == ["ship"]


def test_a_fork_can_be_forked_and_retried(world: World) -> None:
    old = shipping(world)
    second = fork(world, old, at=1)
    third = fork(world, second)
    assert (third.follows, third.fork_event) == (second, 1)
    engine.cancel(second.pk, actor=engine.ENGINE)
    again = engine.start_retry_task(second.pk, station="", actor=engine.Actor.person(world.operator))
    assert (again.follows, again.fork_event, world.at(again)) == (second, None, ["build"])
    assert find_violations() == []


def test_a_pause_holds_what_is_forked(world: World) -> None:
    old = shipping(world)
    engine.pause(engine.PauseScope(world.project, old.line), user=world.operator)
    assert fork(world, old).status == "held"


def test_an_archived_line_takes_no_fork(world: World) -> None:
    old = shipping(world)
    old.line.archived_at = old.created_at
    old.line.save()
    with pytest.raises(Conflict, match="archived"):
        fork(world, old)
    assert Task.objects.count() == 1


@pytest.mark.broken
def test_a_fork_of_another_project_is_found_out(world: World) -> None:
    """The invariants, where rows were written behind the engine's back."""
    old = shipping(world)
    new = fork(world, old)
    Task.objects.filter(pk=new.pk).update(fork_event=999)
    assert any("moment" in violation.message for violation in find_violations())
    assert make_project("elsewhere").pk != old.project_id
