"""Races of a pause against claims, reports, timers, and people who pause and resume: nothing is lost (law §17)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from pipelines import engine
from pipelines.engine import PauseScope
from pipelines.engine.core.errors import Conflict
from pipelines.engine.invariants import check
from pipelines.models import Due, LineVersion, Pause, Task
from pipelines.work.scheduler import timers
from tests.engine.test_pauses import line
from tests.engine.test_races import at_once
from tests.engine.test_races_of_holding import done
from tests.engine.test_races_of_waiting import MANY, come, named
from tests.factories import World, make_world

pytestmark = [pytest.mark.django_db(transaction=True)]

Race = Callable[[World, LineVersion], Task]
FEW = 3
"""Rounds of each race in an ordinary run; the soak has MANY."""


@pytest.fixture
def world(transactional_db: None) -> World:
    return make_world()


def resumed(world: World, version: LineVersion) -> None:
    engine.resume(PauseScope(world.project, version.line), user=world.admin)
    timers.run_due()
    assert not Due.objects.filter(paused_at__isnull=False).exists()


def pausing(world: World, version: LineVersion, stops: bool = False) -> Callable[[], Pause]:
    scope = PauseScope(world.project, version.line)
    return partial(engine.pause, scope, user=world.operator, stops=stops)


def against_a_claim(world: World, version: LineVersion) -> Task:
    task = world.start(version)
    job = world.job(task)
    started, _paused = at_once([partial(engine.start, job.pk, world.claim()), pausing(world, version)])
    timers.run_due()
    assert world.status(task) == ("running" if started else "held")
    assert engine.start(job.pk, world.claim()) is None
    resumed(world, version)
    assert world.status(task) == ("running" if started else "queued")
    return task


def against_a_report(world: World, version: LineVersion) -> Task:
    """A pause that stops takes the work back, or comes behind its report."""
    task = world.start(version)
    report = partial(engine.report, [world.report_of(world.started(task))])
    at_once([report, pausing(world, version, stops=True)])
    timers.run_due()
    accepted = task.decisions.count() == 1
    assert world.status(task) == ("awaiting_review" if accepted else "held")
    resumed(world, version)
    assert world.status(task) == ("awaiting_review" if accepted else "queued")
    return task


def against_the_time_of_a_gate(world: World, version: LineVersion) -> Task:
    task = world.start(version)
    world.report(task)
    due = come(task, "gate")
    fired, _paused = at_once([partial(engine.fire, due.pk), pausing(world, version)])
    timers.run_due()
    assert world.status(task) == ("failed" if fired == "fired" else "awaiting_review")
    resumed(world, version)
    return task


def against_a_pause(world: World, version: LineVersion) -> Task:
    task = world.start(version)
    results = at_once([pausing(world, version), pausing(world, version, stops=True)])
    assert sum(isinstance(result, Conflict) for result in results) == 1
    timers.run_due()
    assert world.status(task) == "held"
    resumed(world, version)
    assert world.status(task) == "queued"
    return task


def two_resume(world: World, version: LineVersion) -> Task:
    task = world.start(version)
    pausing(world, version)()
    timers.run_due()
    scope = PauseScope(world.project, version.line)
    results = at_once([partial(engine.resume, scope, user=user) for user in (world.operator, world.admin)])
    assert sum(isinstance(result, Conflict) for result in results) == 1
    timers.run_due()
    assert (world.status(task), world.kinds(task).count("task.resumed")) == ("queued", 1)
    return task


def resumed_before_its_tasks_were_paused(world: World, version: LineVersion) -> Task:
    """Two workers do the due times of both at once, in whatever order."""
    task = world.start(version)
    pausing(world, version)()
    engine.resume(PauseScope(world.project, version.line), user=world.admin)
    at_once([timers.run_due, timers.run_due])
    timers.run_due()
    assert world.status(task) == "queued"
    return task


RACES: tuple[Race, ...] = (
    against_a_claim,
    against_a_report,
    against_the_time_of_a_gate,
    against_a_pause,
    two_resume,
    resumed_before_its_tasks_were_paused,
)


def run(world: World, races: tuple[Race, ...], times: int) -> None:
    version = line(world)
    world.operator, world.admin, world.reviewer  # noqa: B018  # made once, before threads ask for them
    for race in races:
        with named(race):
            for _ in range(times):
                task = race(world, version)
                assert check([task.pk]) == []
                done(world, task)


def test_a_pause_loses_nothing(world: World) -> None:
    run(world, RACES, FEW)


@pytest.mark.soak
@pytest.mark.parametrize("race", RACES, ids=lambda race: str(race.__name__))
def test_a_pause_loses_nothing_many_times(world: World, race: Race) -> None:
    run(world, (race,), MANY)
