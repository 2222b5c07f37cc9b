"""Forks and joins (law §7): branches that do not come, rounds, joins within joins, migrations."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines import engine
from pipelines.engine import invariants
from pipelines.errors import Conflict
from pipelines.models import LineVersion, Task, Token
from tests.engine.joining import FAILED, begun, gate5, on
from tests.engine.lines_in_change import published
from tests.factories import World, document

pytestmark = pytest.mark.django_db


# Branches that do not come


def test_a_branch_that_fails_with_no_rule_of_its_own_ends_and_counts_as_failed(world: World) -> None:
    passed = {"when": {"result": "success"}, "to": "release"}
    task = begun(world, gate5(world, branch=passed, aggregation="any-pass"))
    world.report(task, FAILED, station="qa")
    assert world.at(task) == ["security"]
    world.report(task, station="security")
    assert world.at(task) == ["release"]
    world.report(task, station="release")
    assert world.status(task) == "completed"


def test_an_end_in_a_branch_completes_the_accounting(world: World) -> None:
    rules: list[dict[str, Any]] = [{"when": {"result": "success"}, "to": "release"}, {"to": "cancelled"}]
    branches = [on(key, *rules) for key in ("qa", "security")]
    task = begun(world, gate5(world, *branches))
    world.report(task, station="qa")
    world.report(task, FAILED, station="security")
    assert (world.status(task), world.kinds(task)[-3:]) == (
        "failed",
        ["token.ended", "token.joined", "token.ended"],
    )


def test_a_branch_that_leaves_for_elsewhere_is_not_waited_for(world: World) -> None:
    """The merged token is a sibling of it as long as it lives."""
    security = on("security", {"when": {"result": "success"}, "to": "release"}, {"to": "cleanup"})
    cleanup = on("cleanup", {"when": {"result": "success"}, "to": "completed"}, {"to": "failed"})
    line = gate5(world, security, cleanup, aggregation="any-pass")
    task = begun(world, line)
    world.report(task, station="qa")
    world.report(task, FAILED, station="security")
    assert sorted(world.at(task)) == ["cleanup", "release"]
    assert invariants.find_violations([task.pk]) == []
    world.report(task, station="release")
    assert world.status(task) == "queued"
    world.report(task, FAILED, station="cleanup")
    assert world.status(task) == "failed"


def test_the_end_of_a_sibling_that_no_join_accounts_for_is_the_tasks_too(world: World) -> None:
    plan = on("plan", {"to": ["qa", "security", "docs"]})
    docs = on("docs", {"when": {"result": "success"}, "to": "completed"}, {"to": "failed"})
    task = begun(world, gate5(world, plan, docs))
    world.report(task, FAILED, station="docs")
    for key in ("qa", "security", "release"):
        world.report(task, station=key)
    assert world.status(task) == "failed"


def test_a_sibling_that_ended_well_is_no_obstacle(world: World) -> None:
    plan = on("plan", {"to": ["qa", "security", "docs"]})
    task = begun(world, gate5(world, plan, on("docs", {"to": "completed"})))
    for key in ("docs", "qa", "security"):
        world.report(task, station=key)
    assert world.token(task).parent_id is None
    world.report(task, station="release")
    assert world.status(task) == "completed"


def test_while_it_is_stuck_a_branch_may_still_come(world: World) -> None:
    security = on("security", {"when": {"result": "success"}, "to": "release"})
    task = begun(world, gate5(world, security, policy={"on_failure": "stuck"}))
    world.report(task, station="qa")
    world.report(task, FAILED, station="security")
    assert world.status(task) == "stuck"
    token = world.token(task, "security")
    engine.move_or_retry_by_hand(token.pk, user=world.operator, token_version=token.version)
    world.report(task, station="security")
    assert world.at(task) == ["release"]


def test_abort_and_cancelling_end_what_waits_at_a_join(world: World) -> None:
    task = begun(world, gate5(world))
    world.report(task, station="qa")
    abort = {"result": "failure", "signals": [{"verdict": "abort", "reason": "x"}]}
    world.report(task, abort, station="security")
    assert (world.status(task), world.at(task)) == ("failed", [])
    task = begun(world, gate5(world))
    world.report(task, station="qa")
    engine.cancel(task.pk, actor=engine.ENGINE)
    assert (world.status(task), world.at(task)) == ("cancelled", [])


def test_what_waits_at_a_join_can_be_neither_held_nor_retried(world: World) -> None:
    task = begun(world, gate5(world))
    world.report(task, station="qa")
    token = world.token(task, "release")
    for command in (engine.hold, engine.move_or_retry_by_hand, engine.release):
        with pytest.raises(Conflict):
            command(token.pk, user=world.operator, token_version=token.version)


# Loops and nesting


def test_a_second_round_is_a_second_merge(world: World) -> None:
    again: list[dict[str, Any]] = [{"when": {"result": "success"}, "to": "completed"}, {"to": "plan"}]
    task = begun(world, gate5(world, release=again))
    for key in ("qa", "security"):
        world.report(task, station=key)
    world.report(task, FAILED, station="release")
    assert world.at(task) == ["plan"]
    for key in ("plan", "qa", "security", "release"):
        world.report(task, station=key)
    assert world.status(task) == "completed"
    assert world.kinds(task).count("token.joined") == 2
    task.refresh_from_db()
    assert task.visits["release"] == 2


def test_a_failed_join_may_lead_to_another_round(world: World) -> None:
    again: list[dict[str, Any]] = [{"when": {"result": "success"}, "to": "completed"}, {"to": "plan"}]
    task = begun(world, gate5(world, release=again))
    world.report(task, station="qa")
    world.report(task, FAILED, station="security")
    assert world.at(task) == ["plan"]
    for key in ("plan", "qa", "security", "release"):
        world.report(task, station=key)
    assert world.status(task) == "completed"


def test_joins_in_which_nothing_ever_runs_are_stopped_by_the_cap(world: World) -> None:
    """Lint refuses such a line."""
    plan = on("plan", {"when": {"verdict": "fail"}, "to": "one"}, {"to": "completed"})
    one = on("one", {"when": {"verdict": "fail"}, "to": "two"}, {"to": "completed"})
    two = on("two", {"when": {"verdict": "fail"}, "to": "one"}, {"to": "completed"})
    one |= {"join": {"wait_for": ["two", "plan"]}}
    two |= {"join": {"wait_for": ["one"]}}
    task = world.start(published(world, document([plan, one, two], policy={"visit_cap": 5})))
    world.report(task, FAILED, station="plan")
    token = world.token(task)
    assert (token.status, token.error) == ("stuck", "VisitLimitExceeded")


def test_forks_nest_each_with_its_own_join(world: World) -> None:
    stations = [
        on("plan", {"to": ["split", "docs"]}),
        on("split", {"to": ["left", "right"]}),
        on("left", {"to": "meet"}),
        on("right", {"to": "meet"}),
        on("meet", {"to": "all"}, join={"wait_for": ["left", "right"]}),
        on("docs", {"to": "all"}),
        on("all", {"to": "completed"}, join={"wait_for": ["meet", "docs"]}),
    ]
    task = begun(world, world.line(stations=stations))
    for key in ("docs", "split", "left"):
        world.report(task, station=key)
    assert sorted(world.at(task)) == ["all", "meet", "right"]
    for key in ("right", "meet", "all"):
        world.report(task, station=key)
    assert world.status(task) == "completed"
    assert world.kinds(task).count("token.joined") == 2


def test_one_join_may_take_in_branches_of_several_depths(world: World) -> None:
    stations = [
        on("plan", {"to": ["split", "docs"]}),
        on("split", {"to": ["left", "right"]}),
        on("left", {"to": "all"}),
        on("right", {"to": "all"}),
        on("docs", {"to": "all"}),
        on("all", {"to": "completed"}, join={"wait_for": ["left", "right", "docs"]}),
    ]
    task = begun(world, world.line(stations=stations))
    for key in ("split", "left", "right", "docs", "all"):
        world.report(task, station=key)
    assert world.status(task) == "completed"
    assert Token.objects.filter(task=task, joined__isnull=False).count() == 4


def test_a_token_from_elsewhere_enters_the_join_station_like_any_other(world: World) -> None:
    """Work that is sent back from the join station comes to it again without a fork: nobody is waited for."""
    fix = on("fix", {"to": "release"})
    again: list[dict[str, Any]] = [{"when": {"result": "success"}, "to": "completed"}, {"to": "fix"}]
    task = begun(world, gate5(world, fix, release=again))
    for key in ("qa", "security"):
        world.report(task, station=key)
    world.report(task, FAILED, station="release")
    world.report(task, station="fix")
    assert world.job(task).station == "release"


# Migration


def migrated(world: World, task: Task, to: LineVersion, mapping: dict[str, str] | None = None) -> Any:
    member = engine.TaskMigration(task.pk, to.pk, mapping or {})
    return engine.migrate([member], engine.Actor.person(world.admin))[0]


def test_what_waits_at_a_join_is_migrated_and_goes_on_waiting(world: World) -> None:
    task = begun(world, gate5(world))
    world.report(task, station="qa")
    names = {"qa": "testing", "release": "ship", "plan": "begin"}
    renamed = [
        on("begin", {"to": ["testing", "security"]}),
        on("testing", {"to": "ship"}),
        on("security", {"to": "ship"}),
        on("ship", {"to": "completed"}, join={"wait_for": ["testing", "security"]}),
    ]
    result = migrated(world, task, world.line(stations=renamed), names)
    assert (result.status, [each.effect for each in result.plan.effects]) == ("migrated", ["stays", "stays"])
    assert world.token(task, "ship").wait["join"]["from"] == "testing"
    for key in ("security", "ship"):
        world.report(task, station=key)
    assert world.status(task) == "completed"


def test_a_version_that_waits_for_less_completes_the_join_at_once(world: World) -> None:
    task = begun(world, gate5(world))
    world.report(task, station="qa")
    release = on("release", {"to": "completed"}, join={"wait_for": ["qa"]})
    result = migrated(world, task, gate5(world, release, on("security", {"to": "completed"})))
    moves = [each for each in result.plan.effects if each.effect == "moves"]
    assert [(each.station, each.to, each.status) for each in moves] == [("release", ("release",), "queued")]
    assert world.job(task, "release").state == "queued"


def test_a_version_without_the_join_lets_it_go_on(world: World) -> None:
    task = begun(world, gate5(world))
    world.report(task, FAILED, station="qa")
    stations = [on("plan", {"to": ["qa", "security"]}), on("qa", {"to": "release"})]
    stations += [on("security", {"to": "completed"}), on("release", {"to": "completed"})]
    migrated(world, task, world.line(stations=stations))
    for key in ("security", "release"):
        world.report(task, station=key)
    assert world.status(task) == "completed"
