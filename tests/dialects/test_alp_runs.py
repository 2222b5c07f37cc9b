"""ALP A3, A4, A6, A12 to A14, A16 to A19, A22, A23, A28, A31: what a task does. Real engine, real pages."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.api.schemas import task_out
from pipelines.models import Job, LineVersion, Task
from tests.factories import World, station
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db

FAILED = {"result": "failure"}
HUMAN_REVIEW = {"key": "human-review", "name": "Human review", "mode": "manual"}


def reviewed(world: World, *rules: dict[str, Any], **gate: Any) -> LineVersion:
    """synthesis —[human-review]→ deliver, as in ALP's example."""
    deliver = {
        "id": "synthesis-to-deliver",
        "when": {"result": "success"},
        "to": "deliver",
        "gates": ["human-review"],
    }
    return world.line(
        stations=[station("synthesis", deliver, *rules), "deliver"], gates=[{**HUMAN_REVIEW, **gate}]
    )


def waiting(world: World, *rules: dict[str, Any], **gate: Any) -> Task:
    task = world.start(reviewed(world, *rules, **gate))
    world.report(task)
    return task


def runs(task: Task) -> list[tuple[str, int]]:
    """Every job, oldest first: station and visit."""
    return list(task.jobs.order_by("pk").values_list("station", "visit"))


def test_A3_a_failed_task_gets_no_further_job(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    world.report(task, FAILED)
    assert world.status(task) == "failed"
    assert runs(task) == [("build", 1)]
    assert not task.jobs.exclude(state=Job.State.DONE).exists()


def test_A4_a_cancelled_job_fails_the_task_which_says_why(world: World, signed_in: As) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    world.report(task, {"result": "cancelled", "reason": "idle_timeout"})
    job = task.jobs.get()
    task.refresh_from_db()
    assert (task.status, task.reason) == ("failed", "The job was cancelled: idle_timeout.")
    assert (job.result, job.outcome) == ("cancelled", {"result": "cancelled", "reason": "idle_timeout"})
    assert task.reason in text(signed_in(world.viewer).get(at(world, "task", task.name)))


def test_A4_a_rule_that_takes_the_cancellation_leaves_no_reason(world: World) -> None:
    rule = {"id": "r", "when": {"result": "cancelled"}, "to": "failed"}
    task = world.start(world.line(stations=[station("build", rule), "ship"]))
    world.report(task, {"result": "cancelled", "reason": "idle_timeout"})
    task.refresh_from_db()
    assert (task.status, task.reason) == ("failed", "")


def test_A6_nothing_moves_before_the_job_of_the_station_has_ended(world: World) -> None:
    task = world.start(world.line(stations=[station("build", {"id": "on", "to": "ship"}), "check", "ship"]))
    world.started(task)
    assert (world.at(task), world.status(task)) == (["build"], "running")
    world.report(task)
    assert world.at(task) == ["ship"]


def test_A12_the_exit_code_is_stored_and_shown(world: World, signed_in: As) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    world.report(task, {"exit_code": 137})
    assert task.jobs.get().exit_code == 137
    page = signed_in(world.viewer).get(at(world, "task", task.name) + "?tab=outputs")
    assert "exit 137" in text(page)
    assert task_out(Task.objects.get(pk=task.pk)).reason == "Exit code 137.", "it said nothing else"


def test_A13_who_reports_says_how_it_went_and_never_where_to_go(world: World) -> None:
    fix = {"id": "fix", "when": {"result": "failure"}, "to": "repair"}
    task = world.start(world.line(stations=[station("build", fix), "ship", "repair"]))
    for named in ("to", "target", "columnId"):
        refused = world.report(task, {"exit_code": 0, named: "ship"})
        assert (refused.status, refused.http) == ("invalid", 400)
    world.report(task, {"exit_code": 3})
    assert world.at(task) == ["repair"]


def test_A14_behind_a_gate_the_task_awaits_review_at_its_station(world: World) -> None:
    task = waiting(world)
    assert (world.status(task), world.at(task)) == ("awaiting_review", ["synthesis"])
    assert runs(task) == [("synthesis", 1)]


def test_A16_approve_queues_the_rules_target(world: World) -> None:
    task = waiting(world)
    world.vote(task, "approve")
    assert (world.status(task), world.at(task)) == ("queued", ["deliver"])


def test_A16_reject_fails_without_running_a_failure_rule_and_shows_its_reason(
    world: World, signed_in: As
) -> None:
    task = waiting(world, {"id": "retry", "when": {"result": "failure"}, "to": "synthesis"})
    world.vote(task, "reject", reason="The sources are missing.")
    assert (world.status(task), runs(task)) == ("failed", [("synthesis", 1)])
    assert "The sources are missing." in text(signed_in(world.viewer).get(at(world, "task", task.name)))


def test_A17_a_gate_that_requires_no_approval_makes_no_pause(world: World) -> None:
    task = waiting(world, requires_approval=False)
    assert (world.status(task), world.at(task)) == ("queued", ["deliver"])
    assert not task.gate_visits.exists()


def test_A17_its_pass_is_recorded_with_the_move(world: World) -> None:
    task = waiting(world, requires_approval=False)
    decision = task.decisions.get()
    passed = [entry for entry in decision.trace if entry["step"] == "rule_gates"]
    assert [(entry["result"], "human-review" in entry["why"]) for entry in passed] == [(True, True)]
    assert task.events.get(kind="token.moved", source="synthesis").decision == decision


def test_A22_each_retry_is_a_new_job_and_one_more_visit(world: World) -> None:
    retry = {"id": "retry", "when": {"result": "failure"}, "to": "security", "max_retries": 2}
    task = world.start(world.line(stations=[station("security", retry), "ship"]))
    for _ in range(3):
        world.report(task, FAILED)
    task.refresh_from_db()
    assert runs(task) == [("security", 1), ("security", 2), ("security", 3)]
    assert (task.status, task.error) == ("failed", "RetryLimitExceeded")


def test_A23_skipped_stations_get_no_job_and_no_failure(world: World) -> None:
    skip = {"id": "skip", "when": {"result": "failure"}, "to": "synthesis"}
    task = world.start(world.line(stations=[station("architecture", skip), "security", "synthesis"]))
    world.report(task, FAILED)
    world.report(task)
    assert world.status(task) == "completed"
    assert runs(task) == [("architecture", 1), ("synthesis", 1)]
    task.refresh_from_db()
    assert "security" not in task.visits
