"""Words said while siblings move: what a gate's page showed is what the word does (law §12, Gates and words)."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.models import LineVersion, Task
from tests.factories import World, station

pytestmark = pytest.mark.django_db

DONE = {"result": "success", "output": {"n": 1}}


def forked(world: World, *before: dict[str, Any], policy: Any = None, **gate: Any) -> LineVersion:
    """plan forks: left asks g before done, but goes to fix by itself once right did; right goes to fix."""
    taken = {"id": "l1", "when": {"edge": {"from": "right", "to": "fix", "at_least": 1}}, "to": "fix"}
    offers = ["approve", "send_back", "reject", "rework", "abort"]
    return world.line(
        stations=[
            station("plan", {"id": "fork", "to": ["left", "right"]}),
            station("left", *before, taken, {"id": "l2", "to": "done", "gates": ["g"]}),
            station("right", {"id": "r", "to": "fix"}),
            station("fix", {"id": "f", "to": "completed"}),
        ],
        gates=[{"key": "g", "name": "G", "mode": "manual", "offers": offers, **gate}],
        ends=[{"key": "done", "kind": "completed", "label": "DONE"}],
        policy=policy or {},
    )


def asked_then_right_moves(world: World, version: LineVersion) -> Task:
    """Left waits at its gate; then right goes to fix."""
    task = world.start(version)
    world.report(task, DONE)
    world.report(task, DONE, station="left")
    assert world.token(task, "left").status == "awaiting_review"
    world.report(task, DONE, station="right")
    assert world.at(task) == ["left", "fix"]
    return task


def test_an_approval_goes_where_the_page_showed(world: World) -> None:
    task = asked_then_right_moves(world, forked(world))
    world.vote(task, "approve")
    decision = task.decisions.get(cause__startswith="gate:")
    assert (decision.answer["decision"], decision.answer["end"], decision.answer["rule"]) == (
        "finish",
        "done",
        "l2",
    )


def test_a_rejection_is_not_swallowed(world: World) -> None:
    task = asked_then_right_moves(world, forked(world))
    world.vote(task, "reject", reason="No.")
    decision = task.decisions.get(cause__startswith="gate:")
    assert (decision.answer["decision"], decision.answer["end"], decision.answer["by"]) == (
        "finish",
        "failed",
        "gate",
    )
