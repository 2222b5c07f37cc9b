"""Fifty tasks in one transaction, with the statements of one (house §2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from pipelines import engine
from pipelines.engine.moves import decision_application
from pipelines.models import Job, Lease, Task
from pipelines.ports import observers
from tests.factories import World, station

pytestmark = pytest.mark.django_db


def tickets(world: World) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM procrastinate_jobs WHERE task_name = 'pipelines.drive'")
        return int(cursor.fetchone()[0])


def reports(world: World, tasks: list[Task]) -> list[engine.Report]:
    return [world.report_of(world.started(task)) for task in tasks]


def test_a_move_takes_few_statements(world: World) -> None:
    task = world.start(world.line(stations=["build", "test", "ship"]))
    world.report(task)
    report = replace(world.report_of(world.started(task)), offer_for_next=world.claim())
    with CaptureQueriesContext(
        connection,
    ) as seen:
        assert engine.report([report])[0].next_lease
    statements = [q["sql"] for q in seen if "SAVEPOINT" not in q["sql"]]
    assert len(statements) <= 12, "\n".join(statements)


@pytest.mark.wide
def test_fifty_moves_take_as_many_statements_as_one(world: World) -> None:
    version = world.line(stations=["build", "ship"])
    members = reports(world, [world.start(version) for _ in range(50)])
    with CaptureQueriesContext(connection) as seen:
        results = engine.report(members)
    assert {result.status for result in results} == {"accepted"}
    assert len([q for q in seen if "SAVEPOINT" not in q["sql"]]) <= 13


def test_refused_members_hold_up_none_of_the_others(world: World) -> None:
    version = world.line(stations=["build", "ship"])
    tasks = [world.start(version) for _ in range(6)]
    members = reports(world, tasks)
    members[1] = replace(members[1], outcome={"result": "nonsense"})
    members[2] = replace(members[2], attempt=7)
    members[3] = replace(members[3], job_id=2**60)
    members[4] = members[0]
    results = engine.report(members)
    assert [result.status for result in results] == [
        "accepted",
        "invalid",
        "ignored",
        "not_found",
        "repeated",
        "accepted",
    ]
    assert [world.at(task) for task in tasks] == [
        ["ship"],
        ["build"],
        ["build"],
        ["build"],
        ["build"],
        ["ship"],
    ]


def test_members_of_one_task_apply_in_order(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    report = world.report_of(world.started(task))
    other = replace(report, outcome={"result": "failure"})
    assert [r.status for r in engine.report([report, other, report])] == ["accepted", "conflict", "repeated"]
    assert world.at(task) == ["ship"]


def test_an_unexpected_error_is_the_faulty_members_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = world.line(stations=["build", "ship"])
    tasks = [world.start(version, title=title) for title in ("fine", "faulty", "fine")]
    members = reports(world, tasks)
    real = decision_application.apply_decision

    def faulty(context: Any, answer: Any) -> None:
        real(context, answer)
        if context.task.title == "faulty":
            raise ZeroDivisionError

    monkeypatch.setattr(decision_application, "apply_decision", faulty)
    results = engine.report(members)
    assert [(result.status, result.http) for result in results] == [
        ("accepted", 200),
        ("error", 500),
        ("accepted", 200),
    ]
    assert [world.at(task) for task in tasks] == [["ship"], ["build"], ["ship"]]
    assert "job.reported" not in world.kinds(tasks[1])
    with pytest.raises(ZeroDivisionError):
        engine.report([members[1]])


def test_a_driver_that_goes_straight_on_gets_the_next_job_leased_and_no_ticket(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    report = world.report_of(world.started(task), offer_for_next=world.claim())
    before = tickets(world)
    result = engine.report([report])[0]
    following = world.job(task)
    assert (following.pk, following.state) == (result.next_job_id, Job.State.RUNNING)
    assert following.lease_key == result.next_lease != report.lease
    assert Lease.objects.get().job_id == following.pk
    assert tickets(world) == before
    assert engine.report([replace(report)])[0].next_lease == result.next_lease, (
        "an identical repeat gets it again"
    )


@pytest.mark.parametrize(
    "ship",
    [station("ship", labels=["gpu"]), station("ship", kind="manual")],
    ids=["other labels", "by hand"],
)
def test_a_job_that_the_driver_may_not_take_is_not_given_to_it(world: World, ship: dict[str, Any]) -> None:
    task = world.start(world.line(stations=["build", ship]))
    result = engine.report([world.report_of(world.started(task), offer_for_next=world.claim())])[0]
    assert result.next_lease is None
    assert not Lease.objects.exists()


def test_without_a_claim_there_is_a_ticket_for_the_next_job(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    before = tickets(world)
    world.report(task)
    assert tickets(world) == before + 1


def test_observers_hear_the_whole_batch_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[tuple[observers.Consequence, ...]] = []

    class Ear:
        hears = (observers.TaskEnded, observers.TaskMoved)

        def handle_consequences(self, batch: Any) -> None:
            heard.append(tuple(batch))

    lines = [world.line(stations=["build", "ship"]), world.line(stations=["build"])]
    members = reports(world, [world.start(line) for line in lines * 2])
    monkeypatch.setattr(observers, "configured_observers", lambda: (Ear(),))
    engine.report(members)
    assert len(heard) == 1
    assert [type(each).__name__ for each in heard[0]] == ["TaskMoved", "TaskEnded"] * 2


def test_an_observer_hears_only_the_classes_that_it_names(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []

    class Ear:
        def __init__(self, *hears: type[observers.Consequence]) -> None:
            self.hears = hears

        def handle_consequences(self, batch: Any) -> None:
            heard.append(" ".join(type(each).__name__ for each in batch))

    members = reports(world, [world.start(world.line(stations=["build", "ship"]))])
    ears = (Ear(observers.TaskMoved), Ear(observers.GateOpened))
    monkeypatch.setattr(observers, "configured_observers", lambda: ears)
    engine.report(members)
    assert heard == ["TaskMoved"], "whoever hears nothing of a batch is not called"


def test_hints_go_out_after_the_commit_only(
    world: World, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    hints: list[observers.Hint] = []
    monkeypatch.setattr(observers, "publish_committed_hints", hints.extend)
    with django_capture_on_commit_callbacks() as promised:
        task = world.start(world.line(stations=["build", "ship"]))
        assert hints == []
    for callback in promised:
        callback()
    assert [(hint.task, hint.seq) for hint in hints] == [(task.name, 1)]
