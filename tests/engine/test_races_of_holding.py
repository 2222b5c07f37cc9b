"""Races where something holds a task, or lets it go: escalations, deadlocks, agents, handoffs, other tasks. One of two
counts, the other is told, and nobody is forgotten."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from pipelines import engine
from pipelines.engine.invariants import find_violations
from pipelines.errors import Conflict
from pipelines.models import ENDED, Agent, Deadlock, Due, Escalation, Handoff, LineVersion, Task
from pipelines.work.scheduler import timers
from tests.engine.test_agents import agent
from tests.engine.test_deadlocks import stay
from tests.engine.test_races import at_once
from tests.engine.test_races_of_waiting import FEW, MANY, cancelling, named
from tests.factories import World, document, make_world, station
from tests.routing.test_preconditions import HANDOFF

pytestmark = [pytest.mark.django_db(transaction=True)]

FAILED = {"result": "failure"}


def holding(world: World) -> LineVersion:
    """plan → code (by the coder, who takes one at a time) → give (a handoff) → ship."""
    agent(world, capacity=1)
    first = {"id": "plan-on", "when": {"result": "success"}, "to": "code"}
    stations = [
        station("plan", first, requires=["agent"], limits={"expected": "10m"}),
        station("code", {"id": "code-on", "to": "give"}, agent="coder"),
        station("give", {"id": "give-on", "to": "ship"}, requires=["handoff"]),
        station("ship"),
    ]
    return world.line(document(stations, "holding", policy={"deadlocks": "yes", "on_failure": "escalate"}))


def done(world: World, task: Task) -> None:
    """So that it takes no place of an agent any more."""
    task.refresh_from_db()
    if task.status not in ENDED:
        engine.cancel(task.pk, actor=engine.ENGINE)


def one_conflict(results: list[Any]) -> None:
    assert sum(isinstance(each, Conflict) for each in results) == 1, results


def escalated(world: World, version: LineVersion) -> tuple[Task, Callable[[], Any]]:
    """Held by an escalation, and what resolves it."""
    task = world.start(version)
    world.report(task, FAILED)
    found = Escalation.objects.get(task=task)
    return task, partial(engine.resolve_escalation, found.pk, user=world.admin, word="retry", reason="Again.")


def two_resolve_an_escalation(world: World, version: LineVersion) -> Task:
    task, resolve = escalated(world, version)
    one_conflict(at_once([resolve] * 2))
    task.refresh_from_db()
    assert (task.visits["plan"], world.kinds(task).count("escalation.resolved")) == (2, 1)
    return task


def resolve_against_cancel(world: World, version: LineVersion) -> Task:
    task, resolve = escalated(world, version)
    at_once([resolve, cancelling(task)])
    assert (world.status(task), world.kinds(task).count("escalation.resolved")) == ("cancelled", 1)
    return task


def late(world: World, version: LineVersion) -> tuple[Task, Callable[[], Any]]:
    """Its work takes too long, which nobody has noticed yet."""
    task = world.start(version)
    world.started(task)
    stay(task, 3600)
    return task, partial(
        engine.fire_due_time_and_return_result, Due.objects.get(task=task, kind="deadlock").pk
    )


def locked(world: World, version: LineVersion) -> tuple[Task, Callable[[], Any]]:
    """Held by a deadlock, and what resolves it."""
    task, notice = late(world, version)
    assert notice() == "fired"
    found = Deadlock.objects.get(task=task)
    return task, partial(engine.resolve_deadlock, found.pk, user=world.admin, word="context", reason="Again.")


def two_resolve_a_deadlock(world: World, version: LineVersion) -> Task:
    task, resolve = locked(world, version)
    one_conflict(at_once([resolve] * 2))
    assert (world.status(task), world.kinds(task).count("deadlock.resolved")) == ("queued", 1)
    return task


def deadlock_against_cancel(world: World, version: LineVersion) -> Task:
    task, resolve = locked(world, version)
    at_once([resolve, cancelling(task)])
    assert (world.status(task), world.kinds(task).count("deadlock.resolved")) == ("cancelled", 1)
    return task


def late_against_its_report(world: World, version: LineVersion) -> Task:
    task, notice = late(world, version)
    report = world.report_of(world.job(task), FAILED)
    _, (reported,) = at_once([notice, partial(engine.report, [report])])
    found = Deadlock.objects.filter(task=task).count()
    assert (reported.status, found) in {("ignored", 1), ("accepted", 0)}
    return task


def one_place_for_two(world: World, version: LineVersion) -> Task:
    """Who does not get it gets it as soon as it is free."""
    tasks = [world.start(version) for _ in range(2)]
    reports = [world.report_of(world.started(task)) for task in tasks]
    at_once([partial(engine.report, [report]) for report in reports])
    assert sorted(map(world.status, tasks)) == ["held", "queued"]
    first, second = sorted(tasks, key=world.status, reverse=True)
    world.report(first)
    timers.run_due_timers_and_triggers()
    assert (world.at(second), world.status(second)) == (["code"], "queued")
    done(world, second)
    return first


def start_against_suspending(world: World, version: LineVersion) -> Task:
    """What has begun goes on, and nothing begins after."""
    task, coder = world.start(version), Agent.objects.get(project=world.project)
    world.report(task)
    start = partial(engine.start_claimed_job_or_none, world.job(task).pk, world.claim())
    suspend = partial(engine.suspend_agent, coder.pk, actor=engine.ENGINE, reason="No.")
    started, _ = at_once([start, suspend])
    assert world.status(task) == ("running" if started else "queued")
    assert find_violations([task.pk]) == []
    engine.restore_agent(coder.pk, actor=engine.ENGINE)
    return task


def giving(world: World, version: LineVersion) -> tuple[Task, Callable[[], Any]]:
    """Held for a handoff, and what gives it."""
    task = world.start(version)
    for _ in ("plan", "code", "give"):
        world.report(task)
    token = world.token(task)
    assert token.wait["missing"] == ["handoff"]
    return task, partial(
        engine.store_handoff_and_decide_again,
        token.pk,
        user=world.operator,
        token_version=token.version,
        document=HANDOFF,
    )


def two_hand_over(world: World, version: LineVersion) -> Task:
    task, give = giving(world, version)
    one_conflict(at_once([give] * 2))
    assert (world.at(task), Handoff.objects.filter(task=task, name="").count()) == (["ship"], 1)
    return task


def handing_over_against_cancel(world: World, version: LineVersion) -> Task:
    task, give = giving(world, version)
    at_once([give, cancelling(task)])
    assert world.status(task) == "cancelled"
    return task


def two_close_a_circle(world: World, version: LineVersion) -> Task:
    """Whoever is second finds it; nobody finds it twice."""
    one, other = (world.start(version) for _ in range(2))
    for task in (one, other):
        world.started(task)
    waits = [
        partial(engine.wait_for_tasks, task.pk, [on.name], actor=engine.ENGINE)
        for task, on in ((one, other), (other, one))
    ]
    at_once(waits)
    assert Deadlock.objects.filter(tasks=one.pk).count() == 1
    done(world, other)
    timers.run_due_timers_and_triggers()
    return one


def depending_on_what_ends(world: World, version: LineVersion) -> Task:
    """It is let go, whichever was first."""
    short = world.line(document(["only"], "short"))
    task, other = world.start(version), world.start(short)
    report = world.report_of(world.started(other))
    depend = partial(engine.wait_for_tasks, task.pk, [other.name], actor=engine.ENGINE)
    at_once([depend, partial(engine.report, [report])])
    timers.run_due_timers_and_triggers()
    assert (world.status(task), world.status(other)) == ("queued", "completed")
    return task


RACES: tuple[Callable[[World, LineVersion], Task], ...] = (
    two_resolve_an_escalation,
    resolve_against_cancel,
    two_resolve_a_deadlock,
    deadlock_against_cancel,
    late_against_its_report,
    one_place_for_two,
    start_against_suspending,
    two_hand_over,
    handing_over_against_cancel,
    two_close_a_circle,
    depending_on_what_ends,
)


def run(races: tuple[Callable[[World, LineVersion], Task], ...], times: int) -> None:
    world = make_world()
    version = holding(world)
    world.operator, world.admin  # noqa: B018  # made once, before threads ask for them
    for race in races:
        with named(race):
            for _ in range(times):
                done(world, race(world, version))
    assert find_violations() == []


@pytest.mark.wide
def test_one_of_two_counts(transactional_db: None) -> None:
    run(RACES, FEW)


@pytest.mark.soak
@pytest.mark.parametrize("race", RACES, ids=lambda race: str(race.__name__))
def test_one_of_two_counts_many_times(
    transactional_db: None, race: Callable[[World, LineVersion], Task]
) -> None:
    run((race,), MANY)
