"""Races of a pause against claims, reports, timers, and people who pause and resume: nothing is lost (law §17)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import cast

import pytest
from django.utils import timezone

from pipelines import engine
from pipelines.engine import PauseScope
from pipelines.engine.invariants import find_violations
from pipelines.errors import Conflict
from pipelines.models import Due, Lease, LineVersion, Pause, Task
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
    resuming(world, version)()
    timers.run_due_timers_and_triggers()
    assert not Due.objects.filter(paused_at__isnull=False).exists()


def pausing(world: World, version: LineVersion, stops: bool = False) -> Callable[[], Pause]:
    scope = PauseScope(world.project, version.line)
    return partial(engine.pause, scope, user=world.operator, stops=stops)


def resuming(world: World, version: LineVersion) -> Callable[[], None]:
    return partial(engine.resume, PauseScope(world.project, version.line), user=world.admin)


def against_a_claim(world: World, version: LineVersion) -> Task:
    task = world.start(version)
    job = world.job(task)
    started, _paused = at_once(
        [partial(engine.start_claimed_job_or_none, job.pk, world.claim()), pausing(world, version)]
    )
    timers.run_due_timers_and_triggers()
    assert world.status(task) == ("running" if started else "held")
    assert engine.start_claimed_job_or_none(job.pk, world.claim()) is None
    resumed(world, version)
    assert world.status(task) == ("running" if started else "queued")
    return task


def against_a_report(world: World, version: LineVersion) -> Task:
    """A pause that stops takes the work back, or comes behind its report."""
    task = world.start(version)
    report = partial(engine.report, [world.report_of(world.started(task))])
    at_once([report, pausing(world, version, stops=True)])
    timers.run_due_timers_and_triggers()
    accepted = task.decisions.count() == 1
    assert world.status(task) == ("awaiting_review" if accepted else "held")
    resumed(world, version)
    assert world.status(task) == ("awaiting_review" if accepted else "queued")
    return task


def against_the_time_of_a_gate(world: World, version: LineVersion) -> Task:
    task = world.start(version)
    world.report(task)
    due = come(task, "gate")
    fired, _paused = at_once(
        [partial(engine.fire_due_time_and_return_result, due.pk), pausing(world, version)]
    )
    timers.run_due_timers_and_triggers()
    assert world.status(task) == ("failed" if fired == "fired" else "awaiting_review")
    resumed(world, version)
    return task


def against_a_pause(world: World, version: LineVersion) -> Task:
    task = world.start(version)
    results = at_once([pausing(world, version), pausing(world, version, stops=True)])
    assert sum(isinstance(result, Conflict) for result in results) == 1
    timers.run_due_timers_and_triggers()
    assert world.status(task) == "held"
    resumed(world, version)
    assert world.status(task) == "queued"
    return task


def two_resume(world: World, version: LineVersion) -> Task:
    task = world.start(version)
    pausing(world, version)()
    timers.run_due_timers_and_triggers()
    scope = PauseScope(world.project, version.line)
    results = at_once([partial(engine.resume, scope, user=user) for user in (world.operator, world.admin)])
    assert sum(isinstance(result, Conflict) for result in results) == 1
    timers.run_due_timers_and_triggers()
    assert (world.status(task), world.kinds(task).count("task.resumed")) == ("queued", 1)
    return task


def resumed_before_its_tasks_were_paused(world: World, version: LineVersion) -> Task:
    """Two workers do the due times of both at once, in whatever order."""
    task = world.start(version)
    pausing(world, version)()
    resuming(world, version)()
    at_once([timers.run_due_timers_and_triggers, timers.run_due_timers_and_triggers])
    timers.run_due_timers_and_triggers()
    assert world.status(task) == "queued"
    return task


def against_a_vote(world: World, version: LineVersion) -> Task:
    """People decide under a pause, too; what follows waits."""
    task = world.start(version)
    world.report(task)
    at_once([partial(world.vote, task), pausing(world, version)])
    timers.run_due_timers_and_triggers()
    assert world.at(task) == ["rest"]
    assert Due.objects.filter(task=task, kind="wait", paused_at=None).count() == 0
    resumed(world, version)
    assert (world.status(task), Due.objects.filter(task=task, kind="wait").count()) == ("running", 1)
    return task


def resumed_against_a_vote(world: World, version: LineVersion) -> Task:
    task = world.start(version)
    world.report(task)
    pausing(world, version)()
    timers.run_due_timers_and_triggers()
    at_once([partial(world.vote, task), resuming(world, version)])
    timers.run_due_timers_and_triggers()
    assert (world.at(task), world.status(task)) == (["rest"], "running")
    assert Due.objects.get(task=task, kind="wait").paused_at is None
    return task


def against_a_killed_worker(world: World, version: LineVersion) -> Task:
    """Its lease is lost, or the pause takes the work back first."""
    task = world.start(version)
    report = world.report_of(world.started(task))
    world.expire(task)
    assert report.lease is not None
    lose = partial(engine.expire_lease, report.job_id, report.attempt, report.lease)
    at_once([lose, pausing(world, version, stops=True)])
    timers.run_due_timers_and_triggers()
    assert (world.status(task), Lease.objects.filter(job__task=task).count()) == ("held", 0)
    resumed(world, version)
    assert world.status(task) == "queued"
    assert engine.report([report])[0].status == "ignored"
    return task


def against_a_start(world: World, version: LineVersion) -> Task:
    """A new task sees the pause, or is told."""
    task, _paused = at_once([partial(world.start, version), pausing(world, version)])
    timers.run_due_timers_and_triggers()
    assert world.status(task) == "held"
    resumed(world, version)
    assert world.status(task) == "queued"
    return cast("Task", task)


def resumed_against_a_start(world: World, version: LineVersion) -> Task:
    pausing(world, version)()
    task, _resumed = at_once([partial(world.start, version), resuming(world, version)])
    timers.run_due_timers_and_triggers()
    assert world.status(task) == "queued"
    return cast("Task", task)


def times_move_by_the_length(world: World, version: LineVersion) -> Task:
    """To the microsecond, however the workers that do what is due meet whoever pauses and resumes."""
    task = world.start(version, due_at=timezone.now() + timedelta(hours=3))
    world.report(task)
    before = due_times(task)
    at_once([pausing(world, version), timers.run_due_timers_and_triggers, timers.run_due_timers_and_triggers])
    at_once(
        [resuming(world, version), timers.run_due_timers_and_triggers, timers.run_due_timers_and_triggers]
    )
    at_once([timers.run_due_timers_and_triggers, timers.run_due_timers_and_triggers])
    row = Pause.objects.latest("since")
    assert row.ended_at is not None
    assert due_times(task) == {kind: at + (row.ended_at - row.since) for kind, at in before.items()}
    return task


def due_times(task: Task) -> dict[str, datetime]:
    return {due.kind: due.due_at for due in Due.objects.filter(task=task)}


RACES: tuple[Race, ...] = (
    against_a_claim,
    against_a_report,
    against_the_time_of_a_gate,
    against_a_vote,
    against_a_killed_worker,
    against_a_start,
    against_a_pause,
    two_resume,
    resumed_against_a_vote,
    resumed_against_a_start,
    resumed_before_its_tasks_were_paused,
    times_move_by_the_length,
)


def run(world: World, races: tuple[Race, ...], times: int) -> None:
    version = line(world)
    world.operator, world.admin, world.reviewer  # noqa: B018  # made once, before threads ask for them
    for race in races:
        with named(race):
            for _ in range(times):
                task = race(world, version)
                assert find_violations([task.pk]) == []
                done(world, task)


def test_a_pause_loses_nothing(world: World) -> None:
    run(world, RACES, FEW)


@pytest.mark.soak
@pytest.mark.parametrize("race", RACES, ids=lambda race: str(race.__name__))
def test_a_pause_loses_nothing_many_times(world: World, race: Race) -> None:
    run(world, (race,), MANY)
