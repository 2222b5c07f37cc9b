"""Races of a fork against whatever moves the task: both happen, once each, and the fork has the moment that was named
(law §17)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from pipelines import engine
from pipelines.engine.invariants import find_violations
from pipelines.models import LineVersion, Task
from pipelines.work.scheduler import timers
from tests.engine.test_races import at_once
from tests.engine.test_races_of_moving import line, signing
from tests.engine.test_races_of_waiting import MANY, cancelling, come, named
from tests.factories import World, make_world

pytestmark = [pytest.mark.django_db(transaction=True)]

Race = Callable[[World, LineVersion], Task]
FEW = 3
"""Rounds of each race in an ordinary run; the soak has MANY."""


@pytest.fixture
def world(transactional_db: None) -> World:
    return make_world()


def forking(world: World, task: Task, at: int | None = None) -> Callable[[], Any]:
    return partial(engine.fork, task.pk, user=world.operator, at=at, reason="Another way.")


def forked_once(task: Task, made: Any, station: str) -> Task:
    """One new task at this station; the other one says so once, in its own order."""
    assert isinstance(made, Task), made
    assert list(task.followed_by.values_list("pk", flat=True)) == [made.pk]
    assert made.tokens.get().station == station
    assert task.events.filter(kind="task.forked").count() == 1
    assert made.visits == {station: 1}
    return task


def against_a_report(world: World, version: LineVersion) -> Task:
    task = world.start(version)
    report = partial(engine.report, [world.report_of(world.started(task))])
    (answer,), made = at_once([report, forking(world, task)])
    assert answer.status == "accepted"
    assert world.status(task) == "awaiting_review"
    return forked_once(task, made, "build")


def against_a_claim(world: World, version: LineVersion) -> Task:
    task = world.start(version)
    started, made = at_once(
        [partial(engine.start_claimed_job_or_none, world.job(task).pk, world.claim()), forking(world, task)]
    )
    assert started is not None
    assert world.status(task) == "running"
    return forked_once(task, made, "build")


def against_a_vote(world: World, version: LineVersion) -> Task:
    """From the moment before the vote, whichever comes first."""
    task = signing(world, version)
    task.refresh_from_db()
    vote = partial(world.vote, task, "approve", by=world.reviewer, visit=world.visit(task))
    voted, made = at_once([vote, forking(world, task, task.seq)])
    assert voted.moved
    assert world.at(task) == ["rest"]
    return forked_once(task, made, "build")


def against_the_time_of_a_gate(world: World, version: LineVersion) -> Task:
    task = signing(world, version)
    due = come(task, "gate")
    fired, made = at_once([partial(engine.fire_due_time_and_return_result, due.pk), forking(world, task)])
    assert (fired, world.status(task)) == ("fired", "failed")
    return forked_once(task, made, "build")


def against_cancel(world: World, version: LineVersion) -> Task:
    task = signing(world, version)
    _cancelled, made = at_once([cancelling(task), forking(world, task)])
    assert world.status(task) == "cancelled"
    return forked_once(task, made, "build")


def against_a_move(world: World, version: LineVersion) -> Task:
    task = signing(world, version)
    task.refresh_from_db()
    token = world.token(task)
    move = partial(
        engine.move_or_retry_by_hand,
        token.pk,
        user=world.operator,
        token_version=token.version,
        to="ship",
    )
    moved, made = at_once([move, forking(world, task, task.seq)])
    assert isinstance(moved, Task)
    assert world.at(task) == ["ship"]
    return forked_once(task, made, "build")


def against_a_pause(world: World, version: LineVersion) -> Task:
    """A task that starts while its line is paused is under the pause, whichever comes first."""
    task = world.start(version)
    scope = engine.PauseScope(world.project, version.line)
    _paused, made = at_once([partial(engine.pause, scope, user=world.operator), forking(world, task)])
    timers.run_due_timers_and_triggers()
    assert (world.status(task), world.status(made)) == ("held", "held")
    engine.resume(scope, user=world.admin)
    timers.run_due_timers_and_triggers()
    assert (world.status(task), world.status(made)) == ("queued", "queued")
    forked_once(task, made, "build")
    # Else each round pauses those of all earlier ones, too: more than one look at what is due takes
    for one in (task, made):
        cancelling(one)()
    return task


def against_a_fork(world: World, version: LineVersion) -> Task:
    """Two people may try two ways from one moment: two tasks with numbers of their own."""
    task = world.start(version)
    one, other = at_once([forking(world, task, 1), forking(world, task, 1)])
    assert {one.pk, other.pk} == set(task.followed_by.values_list("pk", flat=True))
    assert one.number != other.number
    assert task.events.filter(kind="task.forked").count() == 2
    return task


RACES: tuple[Race, ...] = (
    against_a_report,
    against_a_claim,
    against_a_vote,
    against_the_time_of_a_gate,
    against_cancel,
    against_a_move,
    against_a_pause,
    against_a_fork,
)


def run(world: World, races: tuple[Race, ...], times: int) -> None:
    version = line(world)
    world.operator, world.admin, world.reviewer  # noqa: B018  # made once, before threads ask for them
    for race in races:
        with named(race):
            tasks = [race(world, version).pk for _ in range(times)]
            forks = Task.objects.filter(follows__in=tasks).values_list("pk", flat=True)
            assert find_violations([*tasks, *forks]) == []


def test_nothing_is_lost_or_doubled(world: World) -> None:
    run(world, RACES, FEW)


@pytest.mark.soak
@pytest.mark.parametrize("race", RACES, ids=lambda race: str(race.__name__))
def test_nothing_is_lost_or_doubled_many_times(world: World, race: Race) -> None:
    run(world, (race,), MANY)
