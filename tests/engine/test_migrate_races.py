"""Migrating against everything else that happens to a task, on real connections (house §4)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from pipelines import engine
from pipelines.engine.invariants import find_violations
from pipelines.errors import Conflict
from pipelines.lines import line_migration, publishing
from pipelines.models import GateVisit, Line, LineVersion, Migration, Task
from tests.engine.test_races import at_once, gated, open_gates, word
from tests.engine.test_races import world as world
from tests.factories import World, document, station

pytestmark = [pytest.mark.django_db(transaction=True)]

ROUNDS = 6
GATE = {"key": "review", "name": "Review", "mode": "manual"}


def stricter(world: World) -> LineVersion:
    behind = {"id": "on", "to": "ship", "gates": ["review"]}
    return world.line(stations=[station("build", behind), "ship"], gates=[{**GATE, "description": "Look."}])


def to(task: Task, version: LineVersion) -> Callable[[], Any]:
    return partial(engine.migrate, [engine.TaskMigration(task.pk, version.pk)], engine.ENGINE)


@pytest.mark.wide
def test_a_vote_counts_once_or_is_told_that_the_visit_was_closed(world: World) -> None:
    old, new, by = gated(world), stricter(world), world.reviewer
    for _ in range(ROUNDS):
        (visit,) = open_gates(world, old, 1)
        voted, (migrated,) = at_once([word(world, visit, by, 1), to(visit.task, new)])
        assert migrated.status == "migrated"
        refused = isinstance(voted, Conflict)
        assert world.at(visit.task) == (["build"] if refused else ["ship"])
        states = sorted(GateVisit.objects.filter(task=visit.task).values_list("state", flat=True))
        assert states == (["closed", "open"] if refused else ["decided"])
    assert find_violations() == []


def test_a_report_is_judged_by_the_version_it_started_under_either_way(world: World) -> None:
    old = world.line(stations=[station("build", {"id": "on", "to": "ship"}), "test", "ship"])
    new = world.line(stations=["build", "test", "ship"])
    for _ in range(ROUNDS):
        task = world.start(old)
        report = world.report_of(world.started(task))
        (answered,), (migrated,) = at_once([partial(engine.report, [report]), to(task, new)])
        assert (answered.status, migrated.status, world.at(task)) == ("accepted", "migrated", ["ship"])
        assert world.job(task).pinned_id == new.pk
    assert find_violations() == []


def test_a_start_races_and_the_job_runs_under_one_version(world: World) -> None:
    old, new = world.line(stations=["build", "ship"]), world.line(stations=["build", "test", "ship"])
    for _ in range(ROUNDS):
        task = world.start(old)
        job, claim = world.job(task), world.claim()
        started, _ = at_once([partial(engine.start_claimed_job_or_none, job.pk, claim), to(task, new)])
        job.refresh_from_db()
        assert started is not None
        assert started.pinned_id == job.pinned_id, "what the worker was told is what is judged by"
    assert find_violations() == []


@pytest.mark.wide
def test_a_cancelled_task_is_not_migrated(world: World) -> None:
    old, new = gated(world), stricter(world)
    for _ in range(ROUNDS):
        (visit,) = open_gates(world, old, 1)
        cancel = partial(engine.cancel, visit.task_id, actor=engine.ENGINE)
        _, (migrated,) = at_once([cancel, to(visit.task, new)])
        assert migrated.status in ("migrated", "refused")
        assert world.status(visit.task) == "cancelled"
        assert not GateVisit.objects.filter(task=visit.task, state="open").exists()
    assert find_violations() == []


@pytest.mark.wide
def test_of_two_migrations_of_one_impact_one_is_done(world: World) -> None:
    old = world.line(stations=["build", "ship"])
    tasks = [world.start(old) for _ in range(60)]
    new, by = world.line(stations=["build", "test", "ship"]), world.designer
    digest = line_migration.migration_impact_of(new.line, new).digest
    act = partial(line_migration.migrate_line, new.line, user=by, to=new, digest=digest, reason="Now.")
    results = at_once([act, act, act])
    assert sum(isinstance(result, Migration) for result in results) == 1
    assert sum(isinstance(result, Conflict) for result in results) == 2
    assert Migration.objects.get().entries.filter(result="migrated").count() == len(tasks)
    assert find_violations() == []


def test_publishing_meanwhile_changes_neither(world: World) -> None:
    old = world.line(stations=["build", "ship"])
    for _ in range(5):
        world.start(old)
    new, by = world.line(stations=["build", "test", "ship"]), world.admin
    line = Line.objects.get(pk=new.line_id)
    line = publishing.save_draft(line, document(["build", "pack", "ship"]), by, line.draft_number)
    digest = line_migration.migration_impact_of(line, new).digest
    migrate = partial(line_migration.migrate_line, line, user=by, to=new, digest=digest, reason="Now.")
    publish = partial(publishing.publish_draft, line, user=by, based_on=line.draft_number)
    made, published = at_once([migrate, publish])
    assert isinstance(made, Migration)
    assert published.number == 3
    assert set(Task.objects.values_list("pinned_id", flat=True)) == {new.pk}
    assert find_violations() == []


@pytest.mark.wide
def test_batches_in_opposite_order_do_not_deadlock(world: World) -> None:
    old = world.line(stations=["build", "ship"])
    new = world.line(stations=["build", "test", "ship"])
    tasks = [world.start(old) for _ in range(30)]
    there = [engine.TaskMigration(task.pk, new.pk) for task in tasks]
    back = [engine.TaskMigration(task.pk, old.pk) for task in reversed(tasks)]
    results = at_once(
        [partial(engine.migrate, each, engine.ENGINE) for each in (there, back, there[::-1], back[::-1])]
    )
    said = {result.status for batch in results for result in batch}
    assert said <= {"migrated", "already"}
    assert find_violations() == []
