"""Forked tokens whose branches are not joined: each ends for itself, the worst end is the task's (law §1, §7)."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines import engine
from pipelines.models import Task
from tests.factories import World, station

pytestmark = pytest.mark.django_db


def forked(world: World, **more: Any) -> Task:
    """build → (left, right), each to an end of its own."""
    fork = {"id": "fork", "to": ["left", "right"]}
    done = {"id": "{}-done", "when": {"result": "success"}, "to": "completed"}
    branches = [station(key, {**done, "id": f"{key}-done"}, **more) for key in ("left", "right")]
    task = world.start(world.line(stations=[station("build", fork), *branches], jumps=["completed"]))
    world.report(task, {"result": "success", "output": {"n": 1}})
    return task


def test_a_fork_makes_one_position_for_each_target(world: World) -> None:
    task = forked(world)
    assert world.at(task) == ["left", "right"]
    assert world.status(task) == "queued"
    task.refresh_from_db()
    assert task.edges == {"build->left": 1, "build->right": 1}
    assert (task.rules, task.visits) == ({"fork": 1}, {"build": 1, "left": 1, "right": 1})
    assert world.kinds(task).count("token.forked") == 1


def test_the_task_ends_when_every_branch_has_ended(world: World) -> None:
    task = forked(world)
    world.report(task, station="left")
    assert world.at(task) == ["right"]
    assert world.status(task) == "queued"
    world.report(task, station="right")
    assert world.status(task) == "completed"


@pytest.mark.parametrize("failing", ["left", "right"])
def test_the_worst_end_is_the_tasks(world: World, failing: str) -> None:
    task = forked(world)
    for key in ("left", "right"):
        world.report(task, {"result": "failure" if key == failing else "success"}, station=key)
    task.refresh_from_db()
    assert (task.status, task.end) == ("failed", "failed")


def test_a_failing_branch_lets_the_other_go_on(world: World) -> None:
    task = forked(world)
    world.started(task, "right")
    world.report(task, {"result": "failure"}, station="left")
    assert world.at(task) == ["right"]
    assert world.status(task) == "running"


def test_abort_in_one_branch_ends_the_whole_task(world: World) -> None:
    task = forked(world)
    other = world.started(task, "right")
    world.report(
        task, {"result": "failure", "signals": [{"verdict": "abort", "reason": "x"}]}, station="left"
    )
    assert world.status(task) == "failed"
    late = engine.report([world.report_of(other)])[0]
    assert late.http == 409


def test_a_jump_to_an_end_in_one_branch_leaves_the_other_alone(world: World) -> None:
    task = forked(world)
    jump = {"verdict": "hold", "reason": "already_complete", "meta": {"targetState": "completed"}}
    world.report(task, {"result": "success", "signals": [jump]}, station="left")
    assert world.at(task) == ["right"]


def test_cancel_ends_every_branch(world: World) -> None:
    task = forked(world)
    world.started(task, "left")
    engine.cancel(task.pk, actor=engine.ENGINE)
    assert (world.status(task), world.at(task)) == ("cancelled", [])


def test_branches_of_one_task_report_in_one_batch(world: World) -> None:
    task = forked(world)
    members = [world.report_of(world.started(task, key)) for key in ("left", "right")]
    assert [result.decision for result in engine.report(members)] == ["finish", "finish"]
    assert world.status(task) == "completed"


def test_forks_nest(world: World) -> None:
    fork = {"id": "fork", "to": ["a", "b"]}
    again = {"id": "again", "to": ["c", "d"]}
    ends = [station(key, {"id": f"{key}-end", "to": "completed"}) for key in ("b", "c", "d")]
    task = world.start(world.line(stations=[station("build", fork), station("a", again), *ends]))
    world.report(task)
    world.report(task, station="a")
    assert world.at(task) == ["b", "c", "d"]
    for key in ("c", "d", "b"):
        assert world.status(task) == "queued"
        world.report(task, station=key)
    assert world.status(task) == "completed"


def test_a_gate_in_one_branch_leaves_the_other_alone(world: World) -> None:
    gate = {"key": "review", "name": "Review", "mode": "manual"}
    fork = {"id": "fork", "to": ["left", "right"]}
    ask = {"id": "ask", "to": "completed", "gates": ["review"]}
    end = {"id": "end", "to": "completed"}
    line = world.line(
        stations=[station("build", fork), station("left", ask), station("right", end)], gates=[gate]
    )
    task = world.start(line)
    world.report(task)
    world.report(task, station="left")
    assert world.status(task) == "awaiting_review"
    world.report(task, station="right")
    world.vote(task)
    assert world.status(task) == "completed"
