"""Whoever asked for work or did it decides at no gate behind it, whichever call they used (law §12, §15, §17)."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.models import Task
from tests.api.conftest import Apis, gate_path
from tests.factories import World, station

pytestmark = pytest.mark.django_db

GATE = {"key": "review", "name": "Review", "mode": "manual"}
GATED = {"id": "on", "to": "ship", "gates": ["review"]}
DONE = {"result": "cancelled", "signals": [{"verdict": "proceed"}], "output": {"n": 1}}


def behind_manual_work(world: World) -> Task:
    """write (by hand) → check → [review] → ship."""
    write = station("write", {"id": "written", "to": "check"}, kind="manual")
    return world.start(world.line(stations=[write, station("check", GATED), "ship"], gates=[GATE]))


@pytest.mark.parametrize("skips", [False, True])
def test_manual_work_that_was_skipped_or_called_cancelled_has_its_producer(
    api: Apis, world: World, skips: bool
) -> None:
    task = behind_manual_work(world)
    reviewer, path = api.as_(world.reviewer), f"/stages/line/tasks/{task.name}"
    body: dict[str, Any] = {"version": world.token(task).version}
    done = (
        reviewer.post(f"{path}/move", {**body, "to": "@success"})
        if skips
        else reviewer.post(f"{path}/complete", {**body, "outcome": DONE})
    )
    assert done.status_code == 200, done.content
    world.report(task)
    refused = reviewer.post(gate_path(task), {"action": "approve"})
    assert refused.status_code == 403 and "produced" in refused.json()["detail"]
    other = world.reviewers(1)[0]
    assert api.as_(other).post(gate_path(task), {"action": "approve"}).status_code == 200


def test_manual_work_that_a_move_takes_away_has_none(api: Apis, world: World) -> None:
    task = behind_manual_work(world)
    reviewer = api.as_(world.reviewer)
    moved = reviewer.post(f"/stages/line/tasks/{task.name}/move", {"to": "check"})
    assert moved.status_code == 200, moved.content
    world.report(task)
    assert reviewer.post(gate_path(task), {"action": "approve"}).status_code == 200


def test_whoever_made_the_token_of_a_machine_has_requested_what_it_forks(api: Apis, world: World) -> None:
    task = world.start(world.line(stations=[station("build", GATED), "ship"], gates=[GATE]))
    maker = world.admin
    made = api.machine("read", "report").post(f"/stages/line/tasks/{task.name}/fork", {})
    assert made.status_code == 200, made.content
    fork = Task.objects.get(follows=task)
    world.report(fork)
    refused = api.as_(maker).post(gate_path(fork), {"action": "approve"})
    assert refused.status_code == 403 and "requested" in refused.json()["detail"]
    assert api.as_(world.reviewer).post(gate_path(fork), {"action": "approve"}).status_code == 200


def test_whoever_made_the_token_of_a_machine_has_produced_what_it_skips(api: Apis, world: World) -> None:
    task, maker = behind_manual_work(world), world.admin
    body = {"version": world.token(task).version, "to": "@success"}
    skipped = api.machine("read", "report").post(f"/stages/line/tasks/{task.name}/move", body)
    assert skipped.status_code == 200, skipped.content
    world.report(task)
    refused = api.as_(maker).post(gate_path(task), {"action": "approve"})
    assert refused.status_code == 403 and "produced" in refused.json()["detail"]
    assert api.as_(world.reviewer).post(gate_path(task), {"action": "approve"}).status_code == 200


def test_a_machine_that_skips_right_before_the_gate_does_not_hide_its_maker(api: Apis, world: World) -> None:
    task = world.start(world.line(stations=[station("build", GATED), "ship"], gates=[GATE]))
    maker = world.admin
    skipped = api.machine("read", "report").post(
        f"/stages/line/tasks/{task.name}/move", {"version": world.token(task).version, "to": "@success"}
    )
    assert skipped.status_code == 200, skipped.content
    assert api.as_(maker).post(gate_path(task), {"action": "approve"}).status_code == 403
    assert api.as_(world.reviewer).post(gate_path(task), {"action": "approve"}).status_code == 200
