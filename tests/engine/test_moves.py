"""A task moves: its counters, its context, its history (law §5 step 9)."""

from __future__ import annotations

import pytest

from pipelines.engine.core.fold import row_folded_from_events, stored_row_of_task
from pipelines.models import Job, Task
from tests.factories import World, station

pytestmark = pytest.mark.django_db

FAILED = {"result": "failure"}


def test_it_goes_from_station_to_station_to_its_end(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    assert world.at(task) == ["build"]
    assert world.report(task).decision == "move"
    assert world.at(task) == ["ship"]
    assert world.report(task).decision == "finish"
    assert world.status(task) == "completed"
    assert world.kinds(task) == [
        "task.submitted",
        "job.started",
        "job.reported",
        "token.moved",
        "job.started",
        "job.reported",
        "token.ended",
    ]


def test_tasks_of_a_project_are_numbered_without_gaps(world: World) -> None:
    version = world.line()
    names = [world.start(version).name for _ in range(3)]
    assert names == [f"WI-{world.project.key}-{n}" for n in (1, 2, 3)]


def test_it_counts_visits_edges_and_rules(world: World) -> None:
    again = {"id": "again", "when": {"result": "failure"}, "to": "build", "max_retries": 2}
    task = world.start(world.line(stations=[station("build", again), "ship"]))
    world.report(task, FAILED)
    world.report(task, FAILED)
    world.report(task)
    task.refresh_from_db()
    assert task.visits == {"build": 3, "ship": 1}
    assert task.edges == {"build->build": 2, "build->ship": 1}
    assert task.rules == {"again": 2}


def test_an_exhausted_rule_is_not_counted_as_taken(world: World) -> None:
    again = {
        "id": "again",
        "when": {"result": "failure"},
        "to": "build",
        "max_retries": 1,
        "on_exhausted": "fail",
    }
    task = world.start(world.line(stations=[station("build", again), "ship"]))
    world.report(task, FAILED)
    world.report(task, FAILED)
    task.refresh_from_db()
    assert (task.status, task.error, task.rules) == ("failed", "RetryLimitExceeded", {"again": 1})


def test_an_exhausted_rule_that_leads_elsewhere_is_not_counted_either(world: World) -> None:
    elsewhere = {"to": "triage"}
    again = {
        "id": "again",
        "when": {"result": "failure"},
        "to": "build",
        "max_retries": 1,
        "on_exhausted": elsewhere,
    }
    task = world.start(world.line(stations=[station("build", again), "ship", "triage"]))
    world.report(task, FAILED)
    world.report(task, FAILED)
    task.refresh_from_db()
    assert world.at(task) == ["triage"]
    assert (task.rules, task.edges) == ({"again": 1}, {"build->build": 1, "build->triage": 1})


def test_outputs_are_merged_into_the_context_unless_the_station_failed(world: World) -> None:
    onwards = {"id": "onwards", "to": "ship"}
    task = world.start(world.line(stations=[station("build", onwards), "ship", "tell"]))
    world.report(task, {"result": "failure", "output": {"lost": 1}})
    world.report(task, {"result": "success", "output": {"kept": [1, {"a": None}]}})
    world.report(task, {"result": "success", "output": "no object"})
    task.refresh_from_db()
    assert task.context == {"kept": [1, {"a": None}]}


def test_a_rule_stores_what_it_composes_as_a_variable(world: World) -> None:
    rule = {"id": "on", "to": "ship", "compose": [{"var": "id", "path": "$.user.id"}]}
    task = world.start(world.line(stations=[station("build", rule), "ship"]))
    world.report(task, {"result": "success", "output": {"user": {"id": 7}}})
    task.refresh_from_db()
    assert task.variables == {"id": 7}


def test_origin_is_where_a_rule_came_from_and_self_loops_do_not_change_it(world: World) -> None:
    fix = {"id": "fix", "when": {"result": "failure"}, "to": "triage"}
    loop = {"id": "loop", "when": {"result": "failure"}, "to": "triage"}
    back = {"id": "back", "to": "@origin"}
    task = world.start(world.line(stations=["first", station("build", fix), station("triage", loop, back)]))
    world.report(task)
    world.report(task, FAILED)
    assert world.token(task).origin == "build"
    world.report(task, FAILED)
    assert world.token(task).origin == "build"
    world.report(task)
    assert world.at(task) == ["build"]


def test_feedback_goes_to_the_next_job_only(world: World) -> None:
    onwards = {"id": "on", "to": "ship"}
    version = world.line(
        stations=[station("build", {**onwards, "gates": ["ok"]}), "ship"],
        gates=[{"key": "ok", "name": "Ok", "mode": "manual", "on_reject": "rework"}],
    )
    task = world.start(version)
    world.report(task, {"result": "success", "output": {"n": 1}})
    world.vote(task, "reject", reason="Name the author.")
    assert world.job(task).feedback == "Name the author."
    world.report(task, {"result": "success", "output": {"n": 2}})
    world.vote(task, "approve")
    assert world.job(task).feedback == ""


def test_a_rework_signal_runs_the_station_again_and_is_counted_in_a_row(world: World) -> None:
    task = world.start(world.line(stations=[station("build", limits={"max_retries": 2}), "ship"]))
    rework = {"result": "success", "signals": [{"verdict": "rework", "reason": "tests"}]}
    world.report(task, rework)
    assert world.token(task).signal_reworks == 1
    world.report(task, rework)
    world.report(task, rework)
    assert world.status(task) == "failed", "exhausted: the verdict becomes fail"


def test_a_line_that_is_published_again_leaves_its_tasks_where_they_are(world: World) -> None:
    first = world.line(stations=["build", "ship"])
    task = world.start(first)
    second = world.line(stations=["build", "check", "ship"])
    assert (second.number, second.line_id) == (2, first.line_id)
    world.report(task)
    assert world.at(task) == ["ship"]


@pytest.mark.parametrize(
    ("outcome", "status", "error"),
    [
        ({"result": "success"}, "stuck", "NoValidTransition"),
        ({"result": "success", "output_error": True}, "stuck", "OutputDataParseError"),
    ],
)
def test_what_it_cannot_decide_leaves_it_stuck_with_a_name(
    world: World, outcome: dict[str, object], status: str, error: str
) -> None:
    rule = {"id": "big", "when": {"output": {"path": "n", "op": "gt", "value": 9}}, "to": "ship"}
    task = world.start(world.line(stations=[station("build", rule), "ship"], policy={"no_match": "stuck"}))
    world.report(task, outcome)
    token = world.token(task)
    assert (world.status(task), token.status, token.error) == (status, status, error)
    assert token.wait["message"]


def test_folding_the_events_gives_the_row(world: World) -> None:
    again = {"id": "again", "when": {"result": "failure"}, "to": "build", "max_retries": 2}
    task = world.start(world.line(stations=[station("build", again), "ship"]))
    world.report(task, FAILED)
    world.report(task, {"result": "success", "output": {"a": 1}})
    task = Task.objects.get(pk=task.pk)
    assert row_folded_from_events(task.events.order_by("seq")) == stored_row_of_task(task, task.tokens.all())
    world.report(task)
    task = Task.objects.get(pk=task.pk)
    assert row_folded_from_events(task.events.order_by("seq")) == stored_row_of_task(task, task.tokens.all())


def test_the_next_job_knows_its_visit_and_the_version_it_started_under(world: World) -> None:
    version = world.line(stations=["build", "ship"])
    task = world.start(version)
    world.report(task)
    job = world.job(task)
    assert (job.station, job.visit, job.state, job.pinned_id) == ("ship", 1, Job.State.QUEUED, version.pk)


def test_a_blocked_outcome_waits_for_an_answer(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    hold = {"verdict": "hold", "reason": "needs_human", "meta": {"question": "Which branch?"}}
    world.report(task, {"result": "success", "signals": [hold]})
    token = world.token(task)
    assert (token.status, token.wait["question"]) == ("blocked", "Which branch?")
