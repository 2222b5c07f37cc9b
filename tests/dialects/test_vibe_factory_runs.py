"""Vibe Factory C13, C16, C17, C19 to C22, C26, C27, C32: what an execution does. Real engine, API and numbers."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines import engine
from pipelines.errors import Conflict
from pipelines.models import LineVersion, Task
from pipelines.queries import analytics
from pipelines.queries.decision_trace import decision_trace
from tests.api.conftest import Apis
from tests.factories import World, station

pytestmark = pytest.mark.django_db

FAILED = {"result": "failure"}


def on(rule: str, result: str, to: str, **more: Any) -> dict[str, Any]:
    return {"id": rule, "when": {"result": result}, "to": to, **more}


def key(rule: str, name: str, value: Any, to: str) -> dict[str, Any]:
    return {"id": rule, "when": {"output": {"path": name, "op": "equals", "value": value}}, "to": to}


def workflow(world: World, *stations: Any, **more: Any) -> LineVersion:
    return world.line(stations=stations, preset="vibe-factory", **more)


def ran(task: Task) -> list[str]:
    return list(task.jobs.order_by("pk").values_list("station", flat=True))


def retry(world: World, task: Task) -> Task:
    token = world.token(task)
    return engine.move_or_retry_by_hand(token.pk, user=world.operator, token_version=token.version)


def cancel(world: World, task: Task) -> Task:
    return engine.cancel(task.pk, actor=engine.Actor.person(world.operator), reason="not needed")


@pytest.mark.parametrize(
    ("rule", "outcome", "error"),
    [
        (key("r", "k", 1, "ship"), {"result": "success", "output_error": "not JSON"}, "OutputDataParseError"),
        (on("r", "failure", "ship"), {"result": "success"}, "NoValidTransition"),
    ],
)
def test_C13_C17_the_task_rests_stuck_and_may_be_retried_or_cancelled(
    world: World, rule: dict[str, Any], outcome: dict[str, Any], error: str
) -> None:
    version = workflow(world, station("build", rule), "ship")
    first, second = world.start(version), world.start(version)
    for task in (first, second):
        world.report(task, outcome)
        task.refresh_from_db()
        assert (task.status, task.ended_at, world.token(task).error) == ("stuck", None, error)
    retry(world, first)
    assert (world.status(first), ran(first)) == ("queued", ["build", "build"])
    cancel(world, second)
    assert world.status(second) == "cancelled"


def test_C17_fixing_the_conditions_frees_it(world: World) -> None:
    task = world.start(workflow(world, station("build", on("r", "failure", "ship")), "ship"))
    world.report(task)
    assert world.status(task) == "stuck"
    fixed = workflow(world, station("build", on("r", "success", "ship")), "ship")
    engine.migrate([engine.TaskMigration(task.pk, fixed.pk)], engine.Actor.person(world.operator))
    assert (world.at(task), ran(task)) == (["ship"], ["build", "ship"])


def test_C16_the_last_station_completes_the_execution_and_no_other_runs(world: World) -> None:
    task = world.start(workflow(world, "build", "ship"))
    world.report(task)
    assert (world.status(task), ran(task)) == ("completed", ["build"])


def test_C19_a_circle_leaves_the_task_where_it_stands_with_the_stations_in_its_message(world: World) -> None:
    task = world.start(
        workflow(
            world,
            station("build", on("go", "success", "check")),
            station("check", on("back", "any", "build")),
        )
    )
    world.report(task)
    world.report(task)
    token = world.token(task)
    assert (token.station, token.status, token.error) == ("check", "stuck", "CircularWorkflow")
    assert "build" in token.wait["message"]
    assert ran(task) == ["build", "check"]


def test_C20_a_failed_execution_is_over_at_once(world: World) -> None:
    task = world.start(workflow(world, station("build", on("go", "success", "ship")), "ship"))
    world.report(task, FAILED)
    task.refresh_from_db()
    assert task.status == "failed"
    assert task.ended_at is not None


def test_C21_a_retry_is_a_new_job_the_old_one_is_kept_and_no_circle_counts(world: World) -> None:
    policy = {"on_failure": "stuck"}
    version = workflow(world, station("build", on("go", "success", "ship")), "ship", policy=policy)
    task = world.start(version)
    world.report(task, {"result": "failure", "summary": "The disk was full.", "output": {"half": 1}})
    retry(world, task)
    world.report(task, {"result": "success", "output": {"whole": 1}})
    first, second = task.jobs.filter(station="build").order_by("pk")
    assert (first.result, first.summary, second.result, second.visit) == (
        "failure",
        "The disk was full.",
        "success",
        2,
    )
    task.refresh_from_db()
    assert (world.at(task), task.context) == (["ship"], {"whole": 1})


def test_C22_cancel_ends_what_runs_and_nothing_that_has_ended(world: World) -> None:
    task = world.start(workflow(world, "build"))
    job = world.started(task)
    cancel(world, task)
    job.refresh_from_db()
    task.refresh_from_db()
    assert (task.status, task.reason, job.result) == ("cancelled", "not needed", "cancelled")
    with pytest.raises(Conflict):
        cancel(world, task)


def test_C26_an_execution_is_started_and_looked_at_over_http(world: World, api: Apis) -> None:
    workflow(world, "build", "ship")
    operator = api.as_(world.operator)
    started = operator.post("/stages/line/tasks", {"title": "Add login"})
    assert (started.status_code, started.json()["columnId"]) == (201, "build")
    task = Task.objects.get()
    world.report(task)
    shown = operator.get(f"/stages/line/tasks/{started.json()['id']}").json()
    assert (shown["status"], shown["endedAt"] is not None) == ("completed", True)


def test_C26_a_station_is_run_again_over_http(world: World, api: Apis) -> None:
    task = world.start(workflow(world, station("build", on("go", "failure", "ship")), "ship"))
    operator = api.as_(world.operator)
    path = f"/stages/line/tasks/{task.name}/retry"
    assert operator.post(path, {}).status_code == 409, "it has not stopped"
    world.report(task)
    assert world.status(task) == "stuck"
    again = operator.post(path, {"reason": "The disk was full.", "station": "build"})
    assert (again.status_code, again.json()["status"]) == (200, "queued")
    assert ran(task) == ["build", "build"]
    assert task.events.get(trigger="retry").data["reason"] == "The disk was full."


def test_C26_where_several_wait_one_is_named(world: World, api: Apis) -> None:
    fork = {"id": "fork", "to": ["left", "right"]}
    version = world.line(stations=[station("start", fork), "left", "right"], policy={"on_failure": "stuck"})
    task = world.start(version)
    world.report(task)
    for each in ("left", "right"):
        world.report(task, FAILED, station=each)
    machine = api.machine("report", "read")
    path = f"/stages/line/tasks/{task.name}/retry"
    refused = machine.post(path, {})
    assert [error["path"] for error in refused.json()["errors"]] == ["station"]
    assert machine.post(path, {"station": "right"}).status_code == 200
    assert world.token(task, "right").status == "queued"
    assert world.token(task, "left").status == "stuck"


# C27: the four integration tests that the document lists


def test_C27_end_to_end(world: World) -> None:
    stations = [
        station("write", on("written", "success", "review")),
        station("review", key("passed", "review_passed", True, "ship")),
        "ship",
    ]
    task = world.start(workflow(world, *stations))
    world.report(task)
    world.report(task, {"result": "success", "output": {"review_passed": True}})
    world.report(task)
    assert (world.status(task), ran(task)) == ("completed", ["write", "review", "ship"])


@pytest.mark.parametrize(("passed", "where"), [(True, "ship"), (False, "fix")])
def test_C27_branching(world: World, passed: bool, where: str) -> None:
    rules = [key("yes", "passed", True, "ship"), key("no", "passed", False, "fix")]
    task = world.start(workflow(world, station("review", *rules), "ship", "fix"))
    world.report(task, {"result": "success", "output": {"passed": passed}})
    assert world.at(task) == [where]


def test_C27_circular(world: World) -> None:
    task = world.start(workflow(world, station("build", on("again", "success", "build"))))
    world.report(task)
    assert world.token(task).error == "CircularWorkflow"


def test_C27_error_recovery(world: World) -> None:
    rules = [on("go", "success", "ship"), on("repair", "failure", "repair")]
    task = world.start(workflow(world, station("build", *rules), "ship", "repair"))
    world.report(task, FAILED)
    assert world.at(task) == ["repair"]
    world.report(task)
    assert world.status(task) == "completed"


def test_C32_every_transition_that_was_evaluated_is_kept_with_its_time(world: World) -> None:
    rules = [on("bad", "failure", "ship"), on("good", "success", "ship"), on("never", "cancelled", "ship")]
    task = world.start(workflow(world, station("build", *rules), "ship"))
    world.report(task)
    tested = [entry for entry in decision_trace(task.decisions.get()) if entry["step"] == "rules"]
    assert [(entry["rule"], entry["result"]) for entry in tested] == [("bad", False), ("good", True)]
    assert all(entry["took"] >= 0 for entry in tested)


def test_C32_unused_transitions_are_reported(world: World) -> None:
    rules = [on("bad", "failure", "ship"), on("good", "success", "ship")]
    version = workflow(world, station("build", *rules), "ship")
    world.report(world.start(version))
    numbers = analytics.line_insights_or_none(version.line, None)
    assert numbers is not None
    [build] = [each for each in numbers.stations if each.key == "build"]
    assert {rule.id: (rule.tested, rule.taken, rule.never is not None) for rule in build.rules} == {
        "bad": (1, 0, True),
        "good": (1, 1, False),
    }
