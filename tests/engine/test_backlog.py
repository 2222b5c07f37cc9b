"""What waits is not late: expected times count from the start of a job, by the database's clock (law §8, §12)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from pipelines import engine
from pipelines.engine.invariants import find_violations
from pipelines.models import Agent, Deadlock, Due, LineVersion, Task
from pipelines.work.scheduler import timers
from tests.engine.stateful import clock
from tests.engine.test_agents import agent
from tests.factories import World, station

pytestmark = pytest.mark.django_db(transaction=True)


class Clock:
    """Stands still, but for what it is told to pass."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def goes(self, seconds: float) -> None:
        """So long passes, and what has become due is done."""
        self.seconds += seconds
        clock.set_ahead(timedelta(seconds=self.seconds))
        while timers.run_due_timers_and_triggers():
            pass


@pytest.fixture
def time() -> Iterator[Clock]:
    with clock.installed():
        clock.stop()
        yield Clock()


def line(world: World, *more: Any, **limits: Any) -> LineVersion:
    """One station for the coder, of which three seconds are expected."""
    build = station("build", *more, limits={"expected": "3s", **limits}, agent="coder")
    return world.line(stations=[build], policy={"deadlocks": "yes"})


def one_after_the_other(world: World, tasks: list[Task], time: Clock) -> None:
    """Each job takes two seconds."""
    for task in tasks:
        job = world.started(task)
        time.goes(2)
        assert engine.report([world.report_of(job)])[0].status == "accepted"


def test_a_backlog_is_no_deadlock(world: World, time: Clock) -> None:
    """Seven at once, of which each takes two of the three seconds that are expected: the last one waits for twelve."""
    agent(world, capacity=1)
    tasks = [world.start(line(world)) for _ in range(7)]
    world.started(tasks[0])
    assert engine.start_claimed_job_or_none(world.job(tasks[1]).pk, world.claim()) is None
    one_after_the_other(world, tasks, time)
    assert [world.status(task) for task in tasks] == ["completed"] * 7
    assert not Deadlock.objects.exists()
    assert find_violations() == []


@pytest.mark.wide
def test_200_tasks_of_one_agent_are_no_deadlock_but_a_circle_among_them_is(world: World, time: Clock) -> None:
    agent(world, capacity=1)
    version = line(world)
    tasks = [world.start(version) for _ in range(200)]
    first, second, *others = tasks
    for one, other in ((first, second), (second, first)):
        engine.wait_for_tasks(one.pk, [other.name], actor=engine.Actor.person(world.operator))
    [found] = Deadlock.objects.all()
    assert (found.kind, set(found.tasks.all())) == ("circular_wait", {first, second})
    engine.resolve_deadlock(found.pk, user=world.admin, word="context", reason="Go first.")
    time.goes(1)
    one_after_the_other(world, [second, *others, first], time)
    assert set(Task.objects.values_list("status", flat=True)) == {"completed"}
    assert Deadlock.objects.get() == found
    assert find_violations([first.pk, second.pk, others[-1].pk]) == []


def test_what_takes_too_long_once_it_has_begun_is_one(world: World, time: Clock) -> None:
    agent(world, capacity=1)
    first, second = (world.start(line(world)) for _ in range(2))
    world.started(first)
    time.goes(5)
    world.report(first)
    world.started(second)
    time.goes(6)
    assert not Deadlock.objects.exists()
    time.goes(0.001)
    assert [*Deadlock.objects.get().tasks.all()] == [second]


def test_whoever_is_given_work_at_once_begins_to_count_then(world: World, time: Clock) -> None:
    """A worker that goes straight on to the next station, and a person's station."""
    build = station("build", {"id": "on", "to": "sign"}, limits={"expected": "3s"})
    sign = station("sign", kind="manual", limits={"expected": "3s"})
    task = world.start(world.line(stations=["plan", build, sign], policy={"deadlocks": "yes"}))
    time.goes(100)
    world.report(task, offer_for_next=world.claim())
    assert world.job(task).state == "running"
    time.goes(5)
    world.report(task)
    time.goes(5)
    assert (world.status(task), Deadlock.objects.count()) == ("running", 0)
    time.goes(2)
    assert Deadlock.objects.get().parties[0]["station"] == "sign"


@pytest.mark.parametrize("way", ["hold", "depend", "suspend", "lose", "requeue"])
def test_what_keeps_it_from_running_stops_the_clock(world: World, time: Clock, way: str) -> None:
    coder = agent(world)
    task, other = world.start(line(world)), world.start(line(world))
    if way in ("lose", "requeue"):
        job = world.started(task)
        time.goes(5)
        assert job.lease_key is not None
        lost = (
            world.lose(task)
            if way == "lose"
            else engine.requeue_job_and_return_result(job.pk, job.attempt, job.lease_key)
        )
        assert lost == "requeued"
    elif way == "hold":
        token = world.token(task)
        engine.hold(token.pk, user=world.operator, token_version=token.version)
    elif way == "depend":
        engine.wait_for_tasks(task.pk, [other.name], actor=engine.Actor.person(world.operator))
    else:
        engine.suspend_agent(coder.pk, actor=engine.ENGINE, reason="Because.")
    time.goes(1000)
    assert not Due.objects.filter(task=task, kind="deadlock").exists()
    _let_go(world, time, way, task, other, coder)
    world.started(task)
    time.goes(6)
    assert (world.status(task), Deadlock.objects.count()) == ("running", 0)


def _let_go(world: World, time: Clock, way: str, task: Task, other: Task, coder: Agent) -> None:
    if way == "hold":
        token = world.token(task)
        engine.release(token.pk, user=world.operator, token_version=token.version)
    elif way == "depend":
        world.report(other)
        time.goes(1)
    elif way == "suspend":
        engine.restore_agent(coder.pk, actor=engine.ENGINE)


def test_what_runs_while_its_agent_is_suspended_is_not_late_for_that(world: World, time: Clock) -> None:
    """It goes on to its end, and what it takes meanwhile does not count; twice."""
    coder, task = agent(world), world.start(line(world))
    world.started(task)
    for _ in range(2):
        time.goes(2)
        engine.suspend_agent(coder.pk, actor=engine.ENGINE, reason="Because.")
        time.goes(1000)
        engine.restore_agent(coder.pk, actor=engine.ENGINE)
    time.goes(2)
    assert (world.status(task), Deadlock.objects.count(), find_violations()) == ("running", 0, [])
    time.goes(61)
    assert Deadlock.objects.get().kind == "timeout"


@pytest.mark.wide
def test_E23_context_on_what_ran_is_a_new_visit(world: World, time: Clock) -> None:
    agent(world)
    task = world.start(line(world))
    ran = world.started(task)
    time.goes(7)
    engine.resolve_deadlock(
        Deadlock.objects.get().pk, user=world.admin, word="context", reason="Use the small model."
    )
    ran.refresh_from_db()
    assert (ran.state, ran.outcome) == ("done", {"result": "cancelled", "reason": "manual"})
    job = world.started(task)
    assert (job.visit, job.attempt, job.feedback) == (2, 1, "Use the small model.")
    time.goes(6)
    assert Deadlock.objects.filter(state="open").count() == 0
    world.report(task)
    assert (world.status(task), find_violations()) == ("completed", [])


@pytest.mark.wide
@pytest.mark.parametrize("ran", [True, False])
def test_E23_of_a_circle_only_what_ran_and_is_told_something_begins_anew(
    world: World, time: Clock, ran: bool
) -> None:
    """It is found in the last one; another one ran as well."""
    first, second, last = tasks = [world.start(line(world)) for _ in range(3)]
    for task in [first, *([last] if ran else [])]:
        world.started(task)
    for task, on in ((first, second), (second, last), (last, first)):
        engine.wait_for_tasks(task.pk, [on.name], actor=engine.Actor.person(world.operator))
    found = Deadlock.objects.get(task=last)
    engine.resolve_deadlock(found.pk, user=world.admin, word="context", reason="Go first.")
    time.goes(1)
    visits = [(world.job(task).visit, world.job(task).feedback) for task in tasks]
    assert visits == [(1, ""), (1, ""), (2, "Go first.") if ran else (1, "")]
    assert find_violations() == []


def test_the_backlog_goes_on_when_a_deadlock_of_its_agent_is_over(world: World, time: Clock) -> None:
    """Its other tasks are offered again at once, even if the one that was late stays held."""
    agent(world, capacity=2)
    late, waiting = world.start(line(world)), world.start(line(world))
    world.started(late)
    time.goes(7)
    assert engine.start_claimed_job_or_none(world.job(waiting).pk, world.claim()) is None
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs")
    engine.resolve_deadlock(Deadlock.objects.get().pk, user=world.admin, word="escalate", reason="You say.")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (args ->> 'token_id')::bigint FROM procrastinate_jobs WHERE queue_name = 'drive'"
        )
        assert cursor.fetchall() == [(world.token(waiting).pk,)]
    assert engine.start_claimed_job_or_none(world.job(waiting).pk, world.claim()) is not None
