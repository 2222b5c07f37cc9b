"""Stations that do nothing, gone through in one transaction: recorded as if each had had its own."""

from __future__ import annotations

import itertools
import os
from functools import partial
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, assume, example, given
from hypothesis import settings as how
from hypothesis import strategies as st

from pipelines import engine
from pipelines.engine.core.batch import Batch
from pipelines.engine.invariants import find_violations
from pipelines.engine.moves import decision_application, pass_through
from pipelines.errors import Invalid
from pipelines.lines.publishing import PublishRefused
from pipelines.models import Decision, Due, Event, Job, Lease, Task, Worker
from pipelines.ports.leases import WorkOffer
from tests.engine.passing import drive, record
from tests.engine.test_races import at_once
from tests.factories import World, make_worker, station

pytestmark = [pytest.mark.django_db, pytest.mark.moves]
KEYS = ("a", "b", "c", "d", "e")
EXAMPLES = int(os.environ.get("PASSING_EXAMPLES", "15"))
_numbers = itertools.count(1)
ELAPSED = {"for": "0s"}
WORK: list[tuple[str, dict[str, Any]]] = [
    *[("noop", {})] * 5,
    ("wait", ELAPSED),
    ("wait", {"until": "2001-02-03"}),
    ("wait", {"until": "{{input.none}}"}),
    ("wait", {"for": "1h"}),
    ("error", {"message": "no"}),
    ("command", {"argv": ["true"]}),
]
OF_RULES: list[dict[str, Any]] = [{}, {}, {"gates": ["look"]}, {"max_retries": 2}, {"max_visits": 3}]
OF_STATIONS: list[dict[str, Any]] = [
    {},
    {},
    {"limits": {"max_visits": 2}},
    {"agent": "robot"},
    {"labels": ["gpu"]},
]
WHEN: list[dict[str, Any]] = [
    {"always": True},
    {"result": "success"},
    {"result": "failure"},
    {"edge": {"from": "a", "to": "b", "at_least": 2}},
]


@pytest.fixture(autouse=True)
def _passing_through(settings: LazySettings) -> None:
    settings.PASS_THROUGH = True


@st.composite
def lines(draw: st.DrawFn) -> dict[str, Any]:
    keys = KEYS[: draw(st.integers(2, 5))]
    places: list[Any] = [*keys, *keys, "completed", "failed", "@origin", "@blocked", [keys[-1], keys[0]]]
    stations = []
    for key in keys:
        kind, work = draw(st.sampled_from(WORK))
        rules = [
            {
                "id": f"{key}-{number}",
                "when": draw(st.sampled_from(WHEN)),
                "to": draw(st.sampled_from(places)),
                **draw(st.sampled_from(OF_RULES)),
            }
            for number in range(draw(st.integers(0, 2)))
        ]
        # A way to an end, as every line needs one.
        rules.append({"id": f"{key}-out", "when": {"result": "blocked"}, "to": "failed"})
        more = draw(st.sampled_from(OF_STATIONS))
        stations.append(station(key, *rules, kind=kind, work=work, **more))
    return {
        "gateline": 1,
        "key": f"drawn{next(_numbers)}",
        "name": "Drawn",
        "stations": stations,
        "gates": [{"key": "look", "name": "Look", "mode": "manual"}],
        "policy": {"visit_cap": draw(st.integers(2, 30)), "no_match": "stuck", "deadlocks": "yes"},
    }


def chain(
    length: int, *, kind: str = "noop", work: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """Stations in a row, of which the first is no-op work that a worker has begun."""
    rest = [station(f"s{n}", kind=kind, work=dict(work or {})) for n in range(1, length)]
    return {
        "gateline": 1,
        "key": f"row{next(_numbers)}",
        "name": "Row",
        "stations": [station("s0"), *rest],
        **more,
    }


def circle(cap: int) -> dict[str, Any]:
    rule = {"id": "round", "to": "s0"}
    made = chain(2, policy={"visit_cap": cap})
    made["stations"][1]["rules"] = [rule]
    return made


def go_on(world: World, task: Task) -> engine.ReportResult:
    """What the task's worker reports, going straight on."""
    return world.report(task, offer_for_next=world.claim())


@how(max_examples=EXAMPLES, deadline=None, suppress_health_check=[*HealthCheck])
@given(document=lines())
@example(document=chain(4))
@example(document=chain(4, kind="wait", work=ELAPSED))
@example(document=circle(6))
def test_what_is_recorded_is_the_same(world: World, settings: LazySettings, document: dict[str, Any]) -> None:
    try:
        version = world.line(document)
    except (Invalid, PublishRefused):
        assume(False)
    told = []
    for on in (False, True):
        settings.PASS_THROUGH = on
        task = world.start(version)
        drive(world, task)
        assert find_violations([task.pk]) == []
        told.append(record(task))
    assert told[1] == told[0]


def test_a_row_of_stations_is_one_move_for_its_worker(world: World) -> None:
    task = world.start(world.line(chain(6)))
    first = world.started(task)
    answer = go_on(world, task)
    assert (answer.decision, answer.following, world.status(task)) == ("move", None, "completed")
    assert list(Decision.objects.filter(task=task).order_by("at").values_list("station", flat=True)) == [
        f"s{n}" for n in range(6)
    ]
    assert not Lease.objects.filter(job__task=task).exists()
    first.refresh_from_db()
    repeat = engine.report([world.report_of(first)])[0]
    assert (repeat.status, repeat.next_job_id) == ("repeated", answer.next_job_id)
    assert find_violations([task.pk]) == []


def test_it_takes_as_many_statements_as_one_move(world: World) -> None:
    counts = []
    for length in (2, 3, 15):
        document = chain(length)
        document["stations"].append(station("work", kind="command", work={"argv": ["true"]}))
        task = world.start(world.line(document))
        job = world.started(task)
        with CaptureQueriesContext(connection) as seen:
            engine.report([world.report_of(job, offer_for_next=world.claim())])
        assert world.at(task) == ["work"]
        counts.append(len([each for each in seen if "SAVEPOINT" not in each["sql"]]))
    # The numbers of more jobs than there were spare ones.
    assert counts[0] == counts[1] == counts[2] - 2, counts


def test_switched_off_each_station_has_its_transaction(world: World, settings: LazySettings) -> None:
    settings.PASS_THROUGH = False
    task = world.start(world.line(chain(3)))
    answer = go_on(world, task)
    assert answer.following is not None
    assert (answer.following.station, world.at(task)) == ("s1", ["s1"])


def test_whoever_does_not_go_on_leaves_the_next_station_to_the_queue(world: World) -> None:
    task = world.start(world.line(chain(3)))
    world.report(task)
    assert (world.at(task), world.job(task).state) == (["s1"], Job.State.QUEUED)


def test_it_ends_at_work_and_its_worker_has_it(world: World) -> None:
    document = chain(4)
    document["stations"][3] = station("s3", kind="command", work={"argv": ["true"]})
    task = world.start(world.line(document))
    answer = go_on(world, task)
    job = world.job(task)
    assert (job.station, job.state, job.lease_key) == ("s3", Job.State.RUNNING, answer.next_lease)
    assert Lease.objects.get(job__task=task).job_id == job.pk
    assert find_violations([task.pk]) == []


def test_a_label_that_the_worker_lacks_stops_it(world: World) -> None:
    document = chain(4)
    document["stations"][2]["labels"] = ["gpu"]
    task = world.start(world.line(document))
    assert go_on(world, task).next_lease is None
    assert (world.at(task), world.job(task).state) == (["s2"], Job.State.QUEUED)


def test_it_goes_no_further_than_its_bound_and_its_worker_goes_on_from_there(world: World) -> None:
    task = world.start(world.line(chain(pass_through.MOST + 4)))
    answer = go_on(world, task)
    assert answer.following is not None
    assert (answer.following.station, world.at(task)) == (
        f"s{pass_through.MOST + 1}",
        [f"s{pass_through.MOST + 1}"],
    )
    assert Decision.objects.filter(task=task).count() == pass_through.MOST + 1
    assert find_violations([task.pk]) == []
    go_on(world, task)
    assert world.status(task) == "completed"


def test_waits_that_are_over_are_bounded_too_and_the_clock_goes_on(world: World) -> None:
    task = world.start(world.line(chain(pass_through.MOST + 3, kind="wait", work=ELAPSED)))
    go_on(world, task)
    assert world.at(task) == [f"s{pass_through.MOST + 1}"]
    assert engine.fire_due_time_and_return_result(Due.objects.get(task=task).pk) == "fired"
    assert world.status(task) == "completed"
    assert find_violations([task.pk]) == []


def test_a_circle_ends_at_its_limit(world: World) -> None:
    task = world.start(world.line(circle(5)))
    go_on(world, task)
    task.refresh_from_db()
    assert (task.status, world.token(task).error) == ("stuck", "VisitLimitExceeded")
    assert task.visits == {"s0": 5, "s1": 5}
    assert find_violations([task.pk]) == []


def test_an_open_gate_stops_it(world: World) -> None:
    document = chain(4, gates=[{"key": "look", "name": "Look", "mode": "manual"}])
    document["stations"][1]["rules"] = [{"id": "on", "to": "s2", "gates": ["look"]}]
    task = world.start(world.line(document))
    go_on(world, task)
    assert (world.status(task), world.at(task)) == ("awaiting_review", ["s1"])
    assert find_violations([task.pk]) == []


def test_a_task_that_is_in_branches_takes_one_station_at_a_time(world: World) -> None:
    document = chain(5)
    document["stations"][0]["rules"] = [{"id": "fork", "to": ["s1", "s3"]}]
    task = world.start(world.line(document))
    go_on(world, task)
    assert world.at(task) == ["s1", "s3"]


def test_what_decisions_read_of_stored_jobs_is_stored(world: World) -> None:
    task = world.start(world.line(chain(4, limits={"cost_usd": 5})))
    go_on(world, task)
    assert world.at(task) == ["s1"]


def test_an_error_further_on_does_not_lose_what_was_reported(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = world.start(world.line(chain(4)))
    real = decision_application.apply_decision

    def faulty(context: Any, answer: Any) -> None:
        if context.job.station == "s2":
            raise ZeroDivisionError
        real(context, answer)

    monkeypatch.setattr(decision_application, "apply_decision", faulty)
    assert go_on(world, task).status == "accepted"
    assert world.at(task) == ["s1"]
    assert find_violations([task.pk]) == []


@pytest.mark.django_db(transaction=True)
def test_of_a_connection_that_is_killed_nothing_is_left(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = world.start(world.line(chain(5)))
    job = world.started(task)
    before = record(task)
    real = Batch.flush

    def killed(batch: Batch) -> None:
        real(batch)
        assert Event.objects.filter(task=task, kind="token.moved").count() == 4
        connection.cursor().execute("SELECT pg_terminate_backend(pg_backend_pid())")

    with monkeypatch.context() as patch:
        patch.setattr(Batch, "flush", killed)
        with pytest.raises(OperationalError):
            go_on(world, task)
    connection.close()
    assert record(task) == before
    assert Lease.objects.get(job__task=task).job_id == job.pk
    assert go_on(world, task).status == "accepted"
    assert world.status(task) == "completed"
    assert find_violations([task.pk]) == []


@pytest.mark.django_db(transaction=True)
def test_two_workers_take_each_station_once(world: World) -> None:
    version = world.line(chain(pass_through.MOST + 5))
    tasks = [world.start(version) for _ in range(12)]
    workers = [world.worker, make_worker(name="other")]

    def drive_all(worker: Worker) -> None:
        claim = WorkOffer(worker=worker.pk)
        for task in tasks:
            queued = Job.objects.filter(task=task, state=Job.State.QUEUED).first()
            following = engine.start_claimed_job_or_none(queued.pk, claim) if queued else None
            while following is not None:
                by = f"worker:{worker.pk}"
                said = world.report_of(following, offer_for_next=claim, by=by, observed_by=by)
                first, again = engine.report([said]), engine.report([said])
                assert (first[0].status, again[0].status) == ("accepted", "repeated")
                following = first[0].following

    assert at_once([partial(drive_all, worker) for worker in workers]) == [None, None]
    assert {world.status(task) for task in tasks} == {"completed"}
    visits = Job.objects.filter(task__in=tasks).values_list("task", "station", "visit")
    assert len(visits) == len(set(visits)) == 12 * (pass_through.MOST + 5)
    assert find_violations([task.pk for task in tasks]) == []
