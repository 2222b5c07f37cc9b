"""Agents: whom a station names is asked for, has a contract and capacity, and can be suspended (law §8, AEEF)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from pipelines import engine
from pipelines.engine.commands.event_export import export_task
from pipelines.engine.core import agent_capacity
from pipelines.engine.invariants import find_violations
from pipelines.errors import Conflict, Invalid
from pipelines.models import Agent, Due, Job, LineVersion, Task
from pipelines.work.scheduler import timers
from tests.factories import World, make_project, station

pytestmark = pytest.mark.django_db


def agent(world: World, key: str = "coder", **more: Any) -> Agent:
    contract = {
        "contract_version": "1.0",
        "allowed_inputs": ["handoff"],
        "allowed_outputs": ["code"],
        "required_checks": ["tests"],
    }
    values = {"owner": world.operator, "created_at": timezone.now(), **contract, **more}
    return Agent.objects.create(project=world.project, key=key, **values)


def line(world: World, **more: Any) -> LineVersion:
    """plan → code (by the coder) → ship; nothing but the agent is needed."""
    first = station("plan", {"id": "on", "to": "code"}, requires=["agent"])
    return world.line(stations=[first, station("code", agent="coder"), "ship"], **more)


def planned(world: World, version: LineVersion) -> Task:
    """A task whose first station is done."""
    task = world.start(version)
    world.report(task)
    return task


def missing(world: World, task: Task) -> list[str]:
    names: list[str] = world.token(task).wait.get("missing", [])
    return names


def test_E14_who_is_not_registered_is_missing(world: World) -> None:
    task = planned(world, line(world))
    assert (world.status(task), missing(world, task)) == ("held", ["agent:coder"])
    agent(world)
    assert engine.decide_held_tokens_again(task.pk)
    assert world.at(task) == ["code"]


def test_E14_capacity_is_reserved_by_the_move_itself(world: World) -> None:
    agent(world, capacity=2)
    version = line(world)
    tasks = [planned(world, version) for _ in range(3)]
    assert [world.status(task) for task in tasks] == ["queued", "queued", "held"]
    assert Job.objects.filter(agent="coder").exclude(state="done").count() == 2


def test_one_batch_gives_away_each_place_once(world: World) -> None:
    agent(world, capacity=1)
    version = line(world)
    tasks = [world.start(version) for _ in range(3)]
    engine.report([world.report_of(world.started(task)) for task in tasks])
    assert sorted(world.status(task) for task in tasks) == ["held", "held", "queued"]


def test_E14_a_place_that_is_freed_goes_to_who_waits(world: World) -> None:
    agent(world, capacity=1)
    version = line(world)
    first, second = planned(world, version), planned(world, version)
    assert world.status(second) == "held"
    world.report(first)
    assert Due.objects.get(task=second).kind == agent_capacity.FACTS
    assert timers.run_due_timers_and_triggers()["fired"] == 1
    assert (world.at(second), world.status(second)) == (["code"], "queued")
    assert not Due.objects.exists()


def test_who_goes_on_at_the_same_agent_keeps_its_place(world: World) -> None:
    agent(world, capacity=1)
    stations = [
        station("plan", {"id": "on", "to": "code"}, requires=["agent"]),
        station("code", {"id": "more", "to": "test"}, requires=["agent"], agent="coder"),
        station("test", agent="coder"),
    ]
    task = planned(world, world.line(stations=stations))
    world.report(task)
    assert (world.at(task), world.status(task)) == (["test"], "queued")


@pytest.mark.parametrize(
    "without",
    [
        {"contract_version": ""},
        {"allowed_inputs": []},
        {"required_checks": []},
        {"valid_until": timezone.now() - timedelta(days=1)},
    ],
)
def test_E14_a_contract_is_complete_and_in_force(world: World, without: dict[str, Any]) -> None:
    agent(world, **without)
    assert missing(world, planned(world, line(world))) == ["agent:coder"]


def test_a_suspended_agent_gets_no_new_work_and_goes_on_when_restored(world: World) -> None:
    coder = agent(world)
    version = line(world)
    task = planned(world, version)
    engine.suspend_agent(coder.pk, actor=engine.Actor.person(world.admin), reason="It pushed to main.")
    assert engine.start_claimed_job_or_none(world.job(task).pk, world.claim()) is None
    other = planned(world, version)
    assert missing(world, other) == ["agent:coder"]
    engine.restore_agent(coder.pk, actor=engine.Actor.person(world.admin))
    assert timers.run_due_timers_and_triggers()["fired"] == 1
    assert world.at(other) == ["code"]
    assert engine.start_claimed_job_or_none(world.job(task).pk, world.claim()) is not None
    kinds = list(coder.events.order_by("pk").values_list("kind", "data"))
    assert kinds == [("suspended", {"reason": "It pushed to main."}), ("restored", {})]


def test_suspending_is_done_once_and_says_why(world: World) -> None:
    coder, actor = agent(world), engine.Actor.person(world.admin)
    with pytest.raises(Invalid):
        engine.suspend_agent(coder.pk, actor=actor, reason=" ")
    engine.suspend_agent(coder.pk, actor=actor, reason="Because.")
    with pytest.raises(Conflict):
        engine.suspend_agent(coder.pk, actor=actor, reason="Again.")
    engine.restore_agent(coder.pk, actor=actor)
    with pytest.raises(Conflict):
        engine.restore_agent(coder.pk, actor=actor)


def test_no_more_jobs_run_at_once_than_the_agent_takes(world: World) -> None:
    """A line that asks for nothing sends more: they wait for a worker, and the next is offered when one is done."""
    coder = agent(world, capacity=1)
    version = world.line(stations=[station("code", agent="coder"), "ship"])
    first, second = world.start(version), world.start(version)
    world.started(first)
    assert engine.start_claimed_job_or_none(world.job(second).pk, world.claim()) is None
    world.report(first)
    assert engine.start_claimed_job_or_none(world.job(second).pk, world.claim()) is not None
    assert coder.capacity == 1


def test_E29_an_event_says_who_did_the_work_and_how_far_it_is_trusted(world: World) -> None:
    agent(world, trust={"code": 2, "*": 1})
    task = planned(world, line(world))
    world.report(task)
    said = [
        (each["agent"], each["trust_level"]) for each in export_task(task) if each["kind"] == "token.moved"
    ]
    assert said == [
        ({"source": "plan", "target": "coder"}, None),
        ({"source": "coder", "target": "ship"}, 2),
    ]


def test_trust_is_none_where_nothing_is_said(world: World) -> None:
    coder = agent(world, trust={"*": 1, "code": 3})
    assert (coder.trust_level_at("code"), coder.trust_level_at("test")) == (3, 1)
    assert agent(world, "other").trust_level_at("code") == 0


def test_agents_of_another_project_are_others(world: World) -> None:
    elsewhere = make_project("elsewhere-too", "other-owner")
    agent(world).delete()
    Agent.objects.create(project=elsewhere, key="coder", owner=world.operator, created_at=timezone.now())
    assert missing(world, planned(world, line(world))) == ["agent:coder"]


def test_capacity_is_watched(world: World) -> None:
    coder = agent(world, capacity=2)
    version = line(world)
    tasks = [planned(world, version) for _ in range(2)]
    assert find_violations([task.pk for task in tasks]) == []
    for task in tasks:
        world.started(task)
    Agent.objects.filter(pk=coder.pk).update(capacity=1)
    assert [each.invariant for each in find_violations()] == ["I18"]
    Agent.objects.filter(pk=coder.pk).update(capacity=2)


def test_a_place_that_a_branch_frees_goes_to_its_sibling(world: World) -> None:
    agent(world, capacity=1)
    wants: dict[str, Any] = {"requires": ["agent"]}
    stations = [
        station("plan", {"id": "both", "to": ["a", "b"]}),
        station("a", {"id": "a-on", "to": "code"}, **wants),
        station("b", {"id": "b-on", "to": "more"}, **wants),
        station("code", {"id": "done", "to": "completed"}, agent="coder"),
        station("more", {"id": "over", "to": "completed"}, agent="coder"),
    ]
    task = world.start(world.line(stations=stations))
    for key in ("plan", "a", "b"):
        world.report(task, station=key)
    assert world.token(task, "b").status == "held"
    world.report(task, station="code")
    timers.run_due_timers_and_triggers()
    assert world.at(task) == ["more"]
