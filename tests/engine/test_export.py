"""Events in the exchange format (law §9, AEEF E29)."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from pipelines.engine.commands.event_export import export_task, export_tasks, handoff_id
from pipelines.engine.core import gate_results
from pipelines.engine.invariants import find_violations
from pipelines.engine.invariants.gates import event_evaluation_violations
from pipelines.models import Task
from tests.factories import World, station
from tests.reviews.test_pages import as_

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
    events = json.loads(json.dumps(list(export_task(task))))
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
    move = next(event for event in export_task(task) if event["kind"] == "token.moved")
    assert move["transition"] == {"from_state": "build", "to_state": "ship", "trigger": "review_passed"}
    assert move["cause"] == "gate:review"
    assert move["agent"] == {"source": "build", "target": "ship"}
    assert re.fullmatch(r"HO-build-ship-\d{8}T\d{6}", move["handoff_id"])


def test_a_decided_gate_names_result_and_person(world: World, task: Task) -> None:
    decided = next(event for event in export_task(task) if event["kind"] == "gate.decided")
    assert decided["gate_results"] == {"review": "pass"}
    approval = decided["human_approval"]
    assert (approval["decision"], approval["by"], approval["reason"]) == (
        "approve",
        str(world.reviewer),
        "Fine.",
    )
    assert decided["handoff_id"] is None


def test_E29_every_transition_is_one_event_with_what_its_gates_said(world: World) -> None:
    """`gate_results` of the checks and the person, `human_approval`, the trigger, and the time in the state before."""
    checks = {"all": [
        {"field": "exit_code", "operator": "equals", "value": 0, "label": "lint"},
        {"field": "output.coverage", "operator": "greater_than", "value": 79, "severity": "warn", "label": "coverage"},
    ]}  # fmt: skip
    gates = [{"key": "gate_3", "name": "Code ready", "mode": "checks_then_manual", "checks": checks}]
    build = station("build", {"id": "on", "to": "ship"}, gate="gate_3")
    task = world.start(world.line(stations=[build, "ship"], gates=gates))
    world.report(task, {"exit_code": 0, "output": {"coverage": 60}})
    world.vote(task, reason="Fine.")
    world.report(task)
    started, moved, ended = export_task(task, transitions=True)
    assert [each["transition"] for each in (started, moved, ended)] == [
        {"from_state": None, "to_state": "build", "trigger": "submit"},
        {"from_state": "build", "to_state": "ship", "trigger": "gate_3_passed"},
        {"from_state": "ship", "to_state": "completed", "trigger": ended["cause"]},
    ]
    assert moved["gate_results"] == {"lint": "pass", "coverage": "fail", "gate_3": "pass"}
    assert moved["human_approval"]["by"] == str(world.reviewer)
    assert (started["human_approval"], started["gate_results"]) == (None, {})
    task.refresh_from_db()
    assert len({each["event_id"] for each in export_task(task)}) == task.seq
    assert list(export_task(task, transitions=True)) == [started, moved, ended], "ids are stable"


def test_E29_what_a_gate_turns_back_says_so(world: World) -> None:
    gate = {"key": "review", "name": "Review", "mode": "manual"}
    task = world.start(
        world.line(
            stations=[station("build", {"id": "on", "to": "ship", "gates": ["review"]}), "ship"], gates=[gate]
        )
    )
    world.report(task)
    world.vote(task, "send_back", reason="Again.")
    *_, back = export_task(task, transitions=True)
    assert back["transition"] == {"from_state": "build", "to_state": "build", "trigger": "review_sent_back"}
    assert (back["gate_results"], back["human_approval"]["decision"]) == ({"review": "fail"}, "send_back")
    assert back["handoff_id"] is None


def test_E29_a_fork_and_its_join_name_all_their_states(world: World) -> None:
    fork = station("plan", {"id": "fork", "to": ["qa", "security"]})
    join = {"wait_for": ["qa", "security"], "aggregation": "all-pass"}
    branches = [station(key, {"id": key, "to": "ship"}) for key in ("qa", "security")]
    task = world.start(world.line(stations=[fork, *branches, station("ship", join=join)]))
    world.report(task)
    world.report(task, station="qa")
    world.report(task, station="security")
    told = [each["transition"] for each in export_task(task, transitions=True)]
    assert [(each["from_state"], each["to_state"]) for each in told] == [
        (None, "plan"), ("plan", "qa,security"), ("qa", "ship"), ("security", "ship"), ("qa,security", "ship"),
    ]  # fmt: skip


def test_the_time_in_a_state_is_that_of_its_position(task: Task) -> None:
    events = list(export_task(task))
    at = [datetime.fromisoformat(each["timestamp"]) for each in events]
    moved = next(i for i, each in enumerate(events) if each["kind"] == "token.moved")
    assert abs(events[moved]["duration_seconds"] - (at[moved] - at[0]).total_seconds()) <= 1


def test_events_of_many_tasks_come_task_after_task(world: World, task: Task) -> None:
    other = world.start(world.line(key="other"))
    task.refresh_from_db()
    rows = list(export_tasks(Task.objects.filter(project=world.project)))
    assert [row["work_item_id"] for row in rows] == [task.name] * task.seq + [other.name] * other.seq
    later = list(export_tasks(Task.objects.all(), since=other.created_at))
    assert {row["work_item_id"] for row in later} == {other.name}


def test_the_number_of_queries_does_not_grow_with_the_tasks(world: World, task: Task) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            list(export_tasks(Task.objects.all()))
        return len(queries)

    asked()
    before = asked()
    for _ in range(5):
        world.start(task.pinned)
    assert asked() == before


@pytest.mark.wide
def test_they_are_had_by_page_and_api(world: World, task: Task) -> None:
    said = [json.dumps(row, ensure_ascii=False) for row in export_task(task)]
    owner, project = world.project.owner.key, world.project.key
    api = f"/api/owners/{owner}/projects/{project}"
    _, secret = world.token_of(world.viewer, "read")
    for address in (
        f"{api}/events",
        f"{api}/lines/{task.line.key}/events",
        f"{api}/stages/{task.line.key}/tasks/{task.name}/events",
    ):
        assert lines(Client().get(address, headers={"Authorization": f"Bearer {secret}"})) == said
    client = as_(world.viewer)
    for name, *rest in (("project-events",), ("line-events", task.line.key), ("task-events", task.name)):
        response = client.get(reverse(name, args=[owner, project, *rest]))
        assert "attachment" in response.headers["Content-Disposition"]
        assert lines(response) == said


def lines(response: Any) -> list[str]:
    assert response.headers["Content-Type"] == "application/x-ndjson"
    return b"".join(response).decode().splitlines()


def test_the_id_of_a_handoff() -> None:
    at = datetime(2026, 2, 23, 14, 30, tzinfo=UTC)
    assert handoff_id("developer-agent", "qa-agent", at) == "HO-developer-agent-qa-agent-20260223T143000"


def moved(world: World, outcome: dict[str, Any], gate: dict[str, Any], word: str = "") -> dict[str, Any]:
    """The first move of a task that leaves `test`, whose gate is `quality`. What fails is reworked further down."""
    rules = [
        {"id": "back", "when": {"verdict": "fail"}, "to": "fix"},
        {"id": "again", "when": {"eval": {"op": "equals", "value": "plan"}}, "to": "plan"},
        {"id": "on", "to": "ship"},
    ]
    test = station("test", *rules, gate="quality")
    document = {"key": "quality", "name": "Quality", "mode": "auto", **gate}
    task = world.start(world.line(stations=["plan", test, "ship", "fix"], gates=[document]))
    world.report(task)
    assert world.report(task, outcome).status == "accepted"
    if word:
        world.vote(task, word, reason="So.")
    assert find_violations([task.pk]) == []
    return list(export_task(task, transitions=True))[2]


COVERED = {
    "all": [{"field": "output.coverage", "operator": "greater_than", "value": 79, "label": "coverage"}]
}
LOW = {"result": "success", "output": {"coverage": 7}}
GOOD = {"result": "success", "output": {"coverage": 90}}


@pytest.mark.parametrize(
    ("outcome", "gate"),
    [
        pytest.param({"signals": [{"verdict": "proceed"}], "result": "failure"}, {"checks": COVERED}, id="a signal"),
        pytest.param({"result": "success"}, {"mode": "skip", "checks": COVERED}, id="skipped"),
        pytest.param({"result": "success"}, {"mode": "auto"}, id="without checks"),
        pytest.param(
            {"result": "success"}, {"mode": "manual", "requires_approval": False}, id="nobody is asked"
        ),
    ],
)  # fmt: skip
def test_a_gate_at_which_nothing_was_evaluated_says_nothing(
    world: World, outcome: dict[str, Any], gate: dict[str, Any]
) -> None:
    move = moved(world, outcome, gate)
    assert move["transition"] == {"from_state": "test", "to_state": "ship", "trigger": move["cause"]}
    assert move["gate_results"] == {}


@pytest.mark.parametrize(("outcome", "to"), [({"verdict": "fail"}, "fix"), ({"eval": "plan"}, "plan")])
@pytest.mark.parametrize("word", ["", "approve"])
def test_what_is_reworked_was_not_let_through_by_its_gate(
    world: World, outcome: dict[str, Any], to: str, word: str
) -> None:
    """The checks of the gate passed, and people approved: the rule sends it to rework all the same."""
    mode = "checks_then_manual" if word else "auto"
    move = moved(world, {"output": GOOD["output"], **outcome}, {"mode": mode, "checks": COVERED}, word)
    assert move["transition"] == {"from_state": "test", "to_state": to, "trigger": move["cause"]}
    assert move["gate_results"] == {"coverage": "pass", **({"quality": "pass"} if word else {})}


@pytest.mark.parametrize(
    ("outcome", "action", "trigger", "results"),
    [
        (GOOD, "rework", "quality_passed", {"coverage": "pass"}),
        (LOW, "rework", "quality_failed", {"coverage": "fail"}),
        (LOW, "notify", "quality_passed", {"coverage": "fail"}),
    ],
)
def test_a_gate_whose_checks_were_evaluated_says_what_they_came_to(
    world: World, outcome: dict[str, Any], action: str, trigger: str, results: dict[str, str]
) -> None:
    checks = {"all": [{**COVERED["all"][0], "action": action}]}
    move = moved(world, outcome, {"checks": checks})
    assert (move["transition"]["trigger"], move["gate_results"]) == (trigger, results)


def test_of_two_checks_under_one_name_the_one_that_failed_is_told(world: World) -> None:
    field = {"field": "exit_code", "severity": "warn"}
    low = {**field, "operator": "less_than", "value": 1}
    checks = {"all": [low, {**field, "operator": "greater_than", "value": -1}]}
    assert moved(world, {"exit_code": 5, "result": "success"}, {"checks": checks})["gate_results"] == {
        "exit_code": "fail"
    }


@pytest.mark.parametrize(
    ("name", "said"),
    [("gate_passed_or_failed_trigger", "quality_passed"), ("pass_or_fail_by_check", {"coverage": "pass"})],
    ids=["trigger", "results"],
)
def test_an_event_that_names_what_was_not_evaluated_is_seen(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str, said: Any
) -> None:
    moved(world, {"signals": [{"verdict": "proceed"}], "result": "success"}, {"checks": COVERED})
    tasks = list(Task.objects.values_list("pk", flat=True))
    with monkeypatch.context() as planted:
        planted.setattr(gate_results, name, lambda decision: said)
        found = [each.invariant for each in event_evaluation_violations(tasks)]
    assert found == ["I11"] * 2
