"""Events in the exchange format (semantics §9, AEEF E29)."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

import pytest

from pipelines.engine.export import exported, handoff_id
from pipelines.models import Task
from tests.factories import World, station

pytestmark = pytest.mark.django_db

KEYS = {
    "event_id",
    "timestamp",
    "work_item_id",
    "transition",
    "agent",
    "handoff_id",
    "gate_results",
    "trust_level",
    "human_approval",
    "duration_seconds",
}


@pytest.fixture
def task(world: World) -> Task:
    gate = {"key": "review", "name": "Review", "mode": "manual"}
    behind = {"id": "on", "to": "ship", "gates": ["review"]}
    task = world.start(world.line(stations=[station("build", behind), "ship"], gates=[gate]))
    world.report(task)
    world.vote(task, reason="Fine.")
    world.report(task)
    return task


def test_every_event_is_exported_in_order_with_every_field(task: Task) -> None:
    events = json.loads(json.dumps(list(exported(task))))
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    for event in events:
        assert set(event) >= KEYS
        assert re.fullmatch(r"EVT-[0-9a-f-]{36}", event["event_id"])
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", event["timestamp"])
        assert event["work_item_id"] == task.name
        assert set(event["transition"]) == {"from_state", "to_state", "trigger"}
        assert set(event["agent"]) == {"source", "target"}
        assert event["duration_seconds"] >= 0


def test_a_move_to_another_station_is_a_handoff(task: Task) -> None:
    move = next(event for event in exported(task) if event["kind"] == "token.moved")
    assert move["transition"] == {"from_state": "build", "to_state": "ship", "trigger": "gate:review"}
    assert move["agent"] == {"source": "build", "target": "ship"}
    assert re.fullmatch(r"HO-build-ship-\d{8}T\d{6}", move["handoff_id"])


def test_a_decided_gate_names_result_and_person(world: World, task: Task) -> None:
    decided = next(event for event in exported(task) if event["kind"] == "gate.decided")
    assert decided["gate_results"] == {"review": "pass"}
    approval = decided["human_approval"]
    assert (approval["decision"], approval["by"], approval["reason"]) == (
        "approve",
        str(world.reviewer),
        "Fine.",
    )
    assert decided["handoff_id"] is None


def test_the_id_of_a_handoff() -> None:
    at = datetime(2026, 2, 23, 14, 30, tzinfo=UTC)
    assert handoff_id("developer-agent", "qa-agent", at) == "HO-developer-agent-qa-agent-20260223T143000"
