"""Migrating running tasks to another version (law §1, LineVersion): at rest at once, at work at the next move."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines import engine
from pipelines.errors import Conflict
from pipelines.models import GateVisit, Job, LineVersion, Task
from reviews.models import Mail
from tests.factories import World, station

pytestmark = pytest.mark.django_db

GATE = {"key": "review", "name": "Review", "mode": "manual"}
GATED = {"id": "on", "to": "ship", "gates": ["review"]}
OPEN = {"id": "on", "to": "ship"}


def migrate(
    world: World, task: Task, to: LineVersion, mapping: dict[str, str] | None = None
) -> engine.MigrateResult:
    actor = engine.Actor.person(world.designer)
    return engine.migrate([engine.TaskMigration(task.pk, to.pk, mapping or {})], actor)[0]


def gated(world: World, *rules: Any, gate: dict[str, Any] | None = None) -> LineVersion:
    return world.line(
        stations=[station("build", *(rules or [GATED])), "ship"], gates=[{**GATE, **(gate or {})}]
    )


def version_of(task: Task) -> int:
    return Task.objects.get(pk=task.pk).pinned_id


def test_a_queued_job_starts_under_the_new_version(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    new = world.line(stations=["build", "test", "ship"])
    assert migrate(world, task, new).status == "migrated"
    assert (version_of(task), world.job(task).pinned_id, world.at(task)) == (new.pk, new.pk, ["build"])
    world.report(task)
    assert world.at(task) == ["test"]


def test_a_job_at_work_is_judged_by_the_version_it_started_under(world: World) -> None:
    task = world.start(
        world.line(stations=[station("build", {"id": "on", "to": "ship"}), "test", "ship", "pack"])
    )
    world.started(task)
    new = world.line(stations=["build", "test", "ship"])
    assert migrate(world, task, new).status == "migrated"
    world.report(task)
    assert world.at(task) == ["ship"], "the old version's rule chose"
    assert world.job(task).pinned_id == new.pk, "and the next job is the new one's"
    world.report(task)
    assert world.status(task) == "completed", "there is no pack in the new version"


def test_an_open_gate_visit_is_closed_and_asked_again(world: World) -> None:
    task = world.start(gated(world))
    world.report(task)
    old = world.visit(task)
    first, second = world.reviewers(2)
    new = gated(world, gate={"approval": {"who": [{"role": "reviewer", "count": 2}]}})
    assert migrate(world, task, new).status == "migrated"
    old.refresh_from_db()
    visit = world.visit(task)
    assert (old.state, visit.asked_by.pinned_id, world.at(task)) == ("closed", new.pk, ["build"])
    with pytest.raises(Conflict):
        world.vote(task, visit=old)
    assert not world.vote(task, by=first).moved
    assert world.vote(task, by=second).moved
    assert world.at(task) == ["ship"]


def test_votes_on_the_closed_visit_do_not_count_on_the_new_one(world: World) -> None:
    two = {"approval": {"who": [{"role": "reviewer", "count": 2}]}}
    first, second = world.reviewers(2)
    task = world.start(gated(world, gate=two))
    world.report(task)
    world.vote(task, by=first)
    result = migrate(world, task, gated(world, gate={**two, "description": "Look twice."}))
    assert result.plan is not None
    assert result.plan.effects[0].effect == "approve_again"
    assert not world.vote(task, by=second).moved
    assert world.vote(task, by=first).moved


def test_a_gate_that_is_not_asked_any_more_lets_the_task_go_on(world: World) -> None:
    task = world.start(gated(world))
    world.report(task, {"result": "success", "output": {"n": 1}})
    result = migrate(world, task, gated(world, OPEN))
    assert result.plan is not None
    assert [(each.effect, each.to) for each in result.plan.effects] == [("moves", ("ship",))]
    assert world.at(task) == ["ship"]
    task.refresh_from_db()
    assert (task.context, task.rules) == ({"n": 1}, {"on": 1})


def test_a_stuck_task_is_freed_by_a_version_that_takes_its_outcome(world: World) -> None:
    policy = {"no_match": "stuck"}
    on = {"id": "on", "when": {"eval": {"op": "equals", "value": "good"}}, "to": "ship"}
    task = world.start(world.line(stations=[station("build", on), "ship"], policy=policy))
    world.report(task, {"result": "success", "eval": "fine"})
    assert world.status(task) == "stuck"
    new = world.line(stations=[station("build", {"id": "on", "to": "ship"}), "ship"], policy=policy)
    migrate(world, task, new)
    assert world.at(task) == ["ship"]


def test_a_rule_to_blocked_is_not_counted_twice(world: World) -> None:
    wait = {
        "id": "wait",
        "when": {"eval": {"op": "equals", "value": "ask"}},
        "to": "@blocked",
        "max_retries": 1,
    }
    task = world.start(world.line(stations=[station("build", wait), "ship"]))
    world.report(task, {"result": "success", "eval": "ask"})
    new = world.line(stations=[station("build", wait), "ship", "pack"])
    result = migrate(world, task, new)
    assert result.plan is not None
    assert (world.status(task), result.plan.effects[0].effect) == ("blocked", "stays")
    task.refresh_from_db()
    assert task.rules == {"wait": 1}


def test_a_station_that_is_gone_needs_a_mapping(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    new = world.line(stations=["compile", "ship"])
    refused = migrate(world, task, new)
    assert refused.status == "refused"
    assert "build" in refused.detail
    assert migrate(world, task, new, {"build": "nowhere"}).status == "refused"
    assert migrate(world, task, new, {"build": "compile"}).status == "migrated"
    assert world.at(task) == ["compile"]
    task.refresh_from_db()
    assert task.visits == {"build": 1, "compile": 1}
    assert Job.objects.get(task=task, station="build").state == "done"


def test_the_target_of_a_job_at_work_is_read_through_the_mapping(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    world.started(task)
    migrate(world, task, world.line(stations=["compile", "deliver"]), {"build": "compile", "ship": "deliver"})
    world.report(task)
    assert world.at(task) == ["deliver"]
    task.refresh_from_db()
    assert task.edges == {"build->deliver": 1}
    assert world.token(task).origin == "compile"


def test_a_target_that_is_gone_is_a_named_error_and_a_mapping_frees_it(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    world.started(task)
    new = world.line(stations=["build", "deliver"])
    result = migrate(world, task, new)
    assert result.plan is not None
    assert result.plan.effects[0].next_gone == ("ship",)
    world.report(task)
    assert (world.status(task), world.token(task).error) == ("stuck", "StationGone")
    assert migrate(world, task, new).status == "migrated", "its outcome is decided again by the new version"
    assert world.at(task) == ["deliver"]


def test_a_second_migration_reads_through_the_first(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    world.started(task)
    migrate(world, task, world.line(stations=["compile", "send"]), {"build": "compile", "ship": "send"})
    third = world.line(stations=["make", "deliver"])
    refused = migrate(world, task, third)
    assert "compile" in refused.detail
    migrate(world, task, third, {"compile": "make", "send": "deliver"})
    world.report(task)
    assert world.at(task) == ["deliver"]


def test_a_retry_runs_the_station_under_its_new_name(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"], policy={"on_failure": "stuck"}))
    world.started(task)
    migrate(world, task, world.line(stations=["compile", "ship"]), {"build": "compile"})
    world.report(task, {"result": "failure"})
    token = world.token(task)
    assert (token.station, token.status) == ("build", "stuck")
    engine.move_or_retry_by_hand(token.pk, user=world.operator, token_version=token.version)
    assert world.at(task) == ["compile"]


def test_the_gate_of_an_old_job_is_the_old_versions(world: World) -> None:
    task = world.start(gated(world))
    world.started(task)
    new = world.line(stations=["build", "pack", "ship"])
    migrate(world, task, new)
    world.report(task)
    assert world.status(task) == "awaiting_review", "judged by the version it started under"
    world.vote(task)
    assert (world.at(task), world.job(task).pinned_id) == (["ship"], new.pk)


def test_a_rejection_is_never_overruled(world: World) -> None:
    task = world.start(gated(world, gate={"on_reject": "rework"}))
    world.report(task)
    world.vote(task, "reject", reason="No.")
    world.report(task)
    assert world.status(task) == "held", "the same again is not asked again"
    migrate(world, task, gated(world, OPEN))
    assert (world.status(task), world.at(task)) == ("held", ["build"])


def test_a_held_task_stays_held(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    token = world.token(task)
    engine.hold(token.pk, user=world.operator, token_version=token.version, reason="Wait.")
    by_hand = world.line(stations=[station("make", kind="manual"), "ship"])
    migrate(world, task, by_hand, {"build": "make"})
    token = world.token(task)
    assert (token.status, token.station) == ("held", "make")
    engine.release(token.pk, user=world.operator, token_version=token.version)
    assert world.status(task) == "running", "a person does it now"


def test_a_queued_job_becomes_one_by_hand_and_back(world: World) -> None:
    first = world.line(stations=["build", "ship"])
    task = world.start(first)
    migrate(world, task, world.line(stations=[station("build", kind="manual"), "ship"]))
    assert (world.status(task), world.job(task).kind) == ("running", "manual")
    world.report(task)
    assert world.at(task) == ["ship"]


def test_every_branch_is_migrated(world: World) -> None:
    fork = {"id": "fork", "to": ["left", "right"]}
    first = world.line(
        stations=[
            station("build", fork),
            station("left", {"id": "l", "to": "completed", "gates": ["review"]}),
            station("right", {"id": "r", "to": "completed"}),
        ],
        gates=[GATE],
    )
    task = world.start(first)
    world.report(task)
    world.report(task, station="left")
    world.started(task, "right")
    second = world.line(
        stations=[
            station("build", fork),
            station("left", {"id": "l", "to": "completed"}),
            station("right", {"id": "r", "to": "pack"}),
            "pack",
        ],
        gates=[GATE],
    )
    result = migrate(world, task, second)
    assert result.plan is not None
    assert sorted((each.effect, each.how) for each in result.plan.effects) == [
        ("moves", "again"),
        ("stays", "keep"),
    ]
    assert world.at(task) == ["right"]
    world.report(task)
    assert world.status(task) == "completed"


def test_what_is_there_already_stays(world: World) -> None:
    task = world.start(gated(world))
    world.report(task)
    new = gated(world, gate={"description": "Look."})
    migrate(world, task, new)
    visit = world.visit(task)
    assert migrate(world, task, new).status == "already"
    assert world.visit(task) == visit


def test_what_has_ended_and_foreign_versions_are_refused(world: World) -> None:
    version = world.line(stations=["build"])
    task = world.start(version)
    other = world.line(key="other")
    assert migrate(world, task, other).status == "refused"
    engine.cancel(task.pk, actor=engine.ENGINE)
    assert migrate(world, task, world.line(stations=["build", "ship"])).detail == "This task has ended."


def test_a_task_that_changed_since_it_was_confirmed_stays(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    new = world.line(stations=["build", "test", "ship"])
    member = engine.TaskMigration(task.pk, new.pk, expected=[])
    assert engine.migrate([member], engine.ENGINE)[0].status == "changed"
    assert version_of(task) != new.pk


def test_mails_tell_of_closed_and_reopened_gates(world: World) -> None:
    task = world.start(gated(world, gate={"notify": ["team@example.com"]}))
    world.report(task)
    migrate(world, task, gated(world, gate={"notify": ["team@example.com"], "description": "Look."}))
    assert sorted(Mail.objects.filter(address="team@example.com").values_list("kind", flat=True)) == [
        "asked",
        "asked",
        "closed",
    ]
    assert GateVisit.objects.filter(task=task).count() == 2
