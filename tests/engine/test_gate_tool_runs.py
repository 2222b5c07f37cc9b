"""Tools of gates, run as checks before the gate is passed."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines import engine
from pipelines.errors import Forbidden, Invalid
from pipelines.lines import publishing
from pipelines.models import Job, Purpose, Task
from pipelines.ports.leases import MAX_ATTEMPTS
from tests.factories import World, document, station

pytestmark = pytest.mark.django_db


# Tools of gates


def tooled(world: World, **tool: Any) -> Task:
    """`build` leads to `ship` through a gate with a tool; its failures lead to `fix`."""
    gate = {"key": "cover", "mode": "auto", "tool": {"argv": ["coverage", "json"], **tool}}
    rules = [{"id": "on", "to": "ship", "when": {"result": "success"}, "gates": ["cover"]}]
    rules += [{"id": "mend", "to": "fix", "when": {"result": "failure"}}]
    task = world.start(world.line(stations=[station("build", *rules), "ship", "fix"], gates=[gate]))
    world.report(task)
    return task


def ran(code: int, **more: Any) -> dict[str, Any]:
    return {"result": "success" if code == 0 else "failure", "exit_code": code, "feedback": "81 %", **more}


def test_a_tool_gate_is_run_as_a_check_before_the_gate_is_passed(world: World) -> None:
    task = tooled(world)
    job = world.job(task)
    assert (world.status(task), job.purpose, job.kind, job.station) == (
        "evaluating",
        "check",
        "tool",
        "build",
    )
    world.report(task, ran(0))
    assert world.at(task) == ["ship"]
    task.refresh_from_db()
    assert task.visits == {"build": 1, "ship": 1}


def test_a_tool_gate_that_fails_denies_the_way_and_says_why_to_the_next_station(world: World) -> None:
    task = tooled(world)
    world.report(task, ran(1))
    assert world.at(task) == ["fix"]
    assert world.job(task).feedback == "exit code 1\n81 %"


def test_a_tool_gate_that_is_lost_is_decided_by_a_person(world: World) -> None:
    task = tooled(world)
    for _ in range(MAX_ATTEMPTS):
        world.started(task)
        world.lose(task)
    token = world.token(task)
    assert (token.status, token.station) == ("blocked", "build")
    with pytest.raises(Invalid):
        engine.answer_blocked_token(token.pk, user=world.operator, token_version=token.version, fact="yes")
    engine.answer_blocked_token(token.pk, user=world.operator, token_version=token.version, fact="pass")
    assert world.at(task) == ["ship"]


def test_a_warning_of_a_tool_asks_a_person_with_the_result_known(world: World) -> None:
    warns = {"parse": "json", "warn_if": {"output": {"path": "$.percent", "op": "lt", "value": 80}}}
    task = tooled(world, outcome=warns)
    world.report(task, ran(0, output={"percent": 70}))
    assert world.status(task) == "awaiting_review"
    world.vote(task)
    assert world.at(task) == ["ship"]
    assert Job.objects.filter(task=task, purpose=Purpose.CHECK).count() == 1


def test_a_line_with_a_tool_gate_needs_the_permission_to_execute(world: World) -> None:
    gate = {"key": "cover", "mode": "auto", "tool": {"argv": ["coverage"]}}
    rule = {"id": "on", "to": "ship", "gates": ["cover"]}
    given = document([station("build", rule), "ship"], gates=[gate])
    line = publishing.create_line(world.project, "line", "Line", given, world.designer)
    with pytest.raises(Forbidden, match="build"):
        publishing.publish_draft(line, user=world.designer, based_on=line.draft_number)
