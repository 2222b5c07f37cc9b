"""The fence (law §5 step 1): identical ⇒ the first answer again, anything else ⇒ 409 and nothing moves."""

from __future__ import annotations

import uuid
from dataclasses import replace
from decimal import Decimal

import pytest

from pipelines import engine
from pipelines.models import IgnoredReport, Task
from tests.factories import World, station

pytestmark = pytest.mark.django_db


def moved(task: Task) -> tuple[object, ...]:
    """What no ignored report may change."""
    task.refresh_from_db()
    tokens = task.tokens.order_by("pk").values_list("station", "status", "version")
    return task.status, task.visits, task.context, tuple(tokens), task.jobs.count(), task.decisions.count()


def test_an_identical_report_gets_the_first_answer_again(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    report = world.report_of(world.started(task), {"result": "success", "output": {"a": 1, "b": 2}})
    first = engine.report([report])[0]
    before = moved(task)
    same = replace(report, outcome={"output": {"b": 2, "a": 1}, "result": "success"})
    assert engine.report([same])[0] == replace(first, status="repeated")
    assert moved(task) == before
    assert "job.ignored" not in world.kinds(task)


def test_it_refuses_another_payload_of_the_same_attempt(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    report = world.report_of(world.started(task))
    engine.report([report])
    before = moved(task)
    result = engine.report([replace(report, outcome={"result": "failure"})])[0]
    assert (result.status, result.http) == ("conflict", 409)
    assert moved(task) == before


@pytest.mark.parametrize(
    "wrong",
    [{"attempt": 2}, {"lease": uuid.uuid4()}, {"lease": None}],
    ids=["another attempt", "another lease", "no lease"],
)
def test_it_ignores_a_report_that_is_not_the_open_attempt(world: World, wrong: dict[str, object]) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    report = world.report_of(world.started(task))
    before = moved(task)
    result = engine.report([replace(report, **wrong)])[0]  # type: ignore[arg-type]
    assert (result.status, result.http) == ("ignored", 409)
    assert moved(task) == before


def test_it_refuses_a_report_on_a_job_that_nobody_has_taken(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    result = engine.report([world.report_of(world.job(task))])[0]
    assert result.status == "ignored"
    assert world.at(task) == ["build"]


def test_it_refuses_a_late_report_after_the_lease_was_lost(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    late = world.report_of(world.started(task))
    world.lose(task)
    assert engine.report([late])[0].status == "ignored"
    world.report(task)
    assert engine.report([late])[0].status == "ignored"
    assert world.at(task) == ["ship"]


def test_it_refuses_a_report_after_the_task_was_cancelled(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    late = world.report_of(world.started(task))
    engine.cancel(task.pk, actor=engine.Actor.person(world.operator), reason="not needed")
    assert engine.report([late])[0].http == 409
    assert world.status(task) == "cancelled"


def test_an_ignored_report_leaves_one_event_and_then_a_counter(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    report = world.report_of(world.started(task))
    engine.report([report])
    other = replace(report, outcome={"result": "failure"})
    engine.report([other, other])
    engine.report([other])
    engine.report([replace(report, outcome={"result": "failure", "summary": "another digest"})])
    assert world.kinds(task).count("job.ignored") == 2
    assert sorted(IgnoredReport.objects.values_list("count", flat=True)) == [1, 3]


def test_an_unknown_job_is_not_found(world: World) -> None:
    report = engine.Report(2**62, 1, uuid.uuid4(), {"result": "success"}, by="worker:x")
    assert engine.report([report])[0].http == 404


@pytest.mark.parametrize(
    ("outcome", "path"),
    [
        ({}, "outcome"),
        ({"result": "maybe"}, "outcome.result"),
        ({"result": "success", "unheard": 1}, "outcome.unheard"),
        ({"result": "success", "summary": "a\0b"}, "outcome.summary"),
        ({"result": "success", "output": {"a": ["\ud800"]}}, "outcome.output.a[0]"),
        ({"result": "success", "output": float("nan")}, "outcome.output"),
        ({"result": "success", "output": 10**5000}, "outcome"),
        ({"result": "success", "output": Decimal("1" * 5000)}, "outcome"),
        ({"exit_code": 2**40}, "outcome.exit_code"),
        ([], "outcome"),
    ],
    ids=["empty", "word", "key", "NUL", "surrogate", "NaN", "long", "longer", "exit code", "list"],
)
def test_a_malformed_outcome_is_refused_with_its_place(world: World, outcome: object, path: str) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    report = replace(world.report_of(world.started(task)), outcome=outcome)  # type: ignore[arg-type]
    result = engine.report([report])[0]
    assert (result.status, result.http, result.path) == ("invalid", 400, path)
    assert world.at(task) == ["build"]


def test_an_outcome_nested_too_deeply_is_refused(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    deep: object = 1
    for _ in range(200):
        deep = [deep]
    report = replace(world.report_of(world.started(task)), outcome={"result": "success", "output": deep})
    assert engine.report([report])[0].status == "invalid"


def test_a_manual_job_is_reported_about_the_token_that_was_seen(world: World) -> None:
    task = world.start(world.line(stations=[station("triage", kind="manual"), "ship"]))
    job = world.job(task)
    stale = replace(world.report_of(job), token_version=world.token(task).version + 1)
    assert engine.report([stale])[0].status == "ignored"
    assert engine.report([world.report_of(job)])[0].status == "accepted"
    assert world.at(task) == ["ship"]
