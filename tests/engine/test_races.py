"""Races on the real database, with real connections: one winner each, everybody else is told (house §4)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from django.db import connection

from pipelines import engine
from pipelines.engine.invariants import find_violations
from pipelines.errors import Conflict
from pipelines.models import Decision, GateVisit, IgnoredReport, LineVersion, Task, User
from tests.factories import World, make_world, station
from tests.waiting import LONG

pytestmark = [pytest.mark.django_db(transaction=True)]

Act = Callable[[], Any]
GATE = {"key": "review", "name": "Review", "mode": "manual"}


@pytest.fixture
def world(transactional_db: None) -> World:
    return make_world()


def at_once(acts: Sequence[Act], threads: int | None = None) -> list[Any]:
    """Do all at once, each on a connection of its own thread; a refusal is a result."""
    count = min(threads or len(acts), len(acts))
    start, queue = threading.Barrier(count), iter(list(enumerate(acts)))
    results: list[Any] = [None] * len(acts)
    lock = threading.Lock()

    def work() -> None:
        start.wait(timeout=LONG)
        try:
            while True:
                with lock:
                    place, act = next(queue, (-1, None))
                if act is None:
                    return
                results[place] = _refusal_or_result(act)
        finally:
            connection.close()

    workers = [threading.Thread(target=work) for _ in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=LONG)
    return results


def _refusal_or_result(act: Act) -> Any:
    try:
        return act()
    except Conflict as refused:
        return refused


def gated(world: World) -> LineVersion:
    behind = {"id": "on", "to": "ship", "gates": ["review"]}
    return world.line(stations=[station("build", behind), "ship"], gates=[GATE])


def open_gates(world: World, version: LineVersion, count: int) -> list[GateVisit]:
    tasks = [world.start(version) for _ in range(count)]
    engine.report([world.report_of(world.started(task)) for task in tasks])
    return list(GateVisit.objects.filter(task__in=tasks).order_by("opened_at"))


def word(world: World, visit: GateVisit, user: User, n: int) -> Act:
    said = ("approve", "") if n % 2 else ("reject", f"No, says {n}.")
    return lambda: world.vote(visit.task, said[0], by=user, reason=said[1], visit=visit)


def race_on_gates(world: World, gates: int, clients: int) -> None:
    """Every client says a word at every gate: each gate has one decision and one winner, and the losers are told."""
    visits, people = open_gates(world, gated(world), gates), world.reviewers(clients)
    acts = [word(world, visit, user, n) for visit in visits for n, user in enumerate(people)]
    said = at_once(acts, clients)
    for place, visit in enumerate(visits):
        results = said[place * clients : (place + 1) * clients]
        winners = [result for result in results if not isinstance(result, Conflict)]
        losers = [result for result in results if isinstance(result, Conflict)]
        assert (len(winners), len(losers)) == (1, clients - 1)
        visit.refresh_from_db()
        assert {loser.by for loser in losers} == {str(visit.decided_by)}
        assert Decision.objects.filter(cause=f"gate:{visit.pk}").count() == 1
    words = Counter(GateVisit.objects.values_list("state", flat=True))
    assert words == {"decided": gates}
    assert find_violations() == []


@pytest.mark.wide
def test_eight_people_race_at_ten_gates(world: World) -> None:
    race_on_gates(world, gates=10, clients=8)


@pytest.mark.soak
def test_sixty_four_people_race_at_two_hundred_gates(world: World) -> None:
    race_on_gates(world, gates=200, clients=64)


def test_vote_against_cancel_has_one_winner(world: World) -> None:
    version = gated(world)
    for _ in range(10):
        (visit,) = open_gates(world, version, 1)
        cancel = partial(engine.cancel, visit.task_id, actor=engine.ENGINE)
        vote = word(world, visit, world.reviewer, 0)
        results = at_once([vote, cancel])
        assert sum(isinstance(result, Conflict) for result in results) == 1
        assert Task.objects.get(pk=visit.task_id).status in ("failed", "cancelled")


def test_numbers_are_given_once_under_a_race(world: World) -> None:
    version, actor = world.line(), engine.Actor.person(world.operator)
    tasks = at_once([lambda: engine.submit(version, actor=actor, title="A task") for _ in range(12)])
    assert sorted(task.number for task in tasks) == list(range(1, 13))


def test_one_of_many_workers_gets_the_job(world: World) -> None:
    task = world.start(world.line())
    job, claim = world.job(task), world.claim()
    got = at_once([lambda: engine.start_claimed_job_or_none(job.pk, claim) for _ in range(8)])
    assert sum(job is not None for job in got) == 1


@pytest.mark.wide
def test_a_report_races_the_sweep_and_one_of_them_counts(world: World) -> None:
    version = world.line(stations=["build", "ship"])
    for _ in range(10):
        task = world.start(version)
        report = world.report_of(world.started(task))
        world.expire(task)
        assert report.lease is not None
        lose = partial(engine.expire_lease, report.job_id, report.attempt, report.lease)
        (answered,), swept = at_once([partial(engine.report, [report]), lose])
        assert (answered.status, swept) in {("accepted", "kept"), ("ignored", "requeued")}


def test_batches_that_overlap_do_not_deadlock(world: World) -> None:
    version = world.line(stations=["build", "ship"])
    reports = [world.report_of(world.started(world.start(version))) for _ in range(20)]
    parts = (reports, reports[::-1], reports[10:], reports[:10][::-1])
    acts = [partial(engine.report, part) for part in parts]
    results = [result for batch in at_once(acts) for result in batch]
    assert Counter(result.status for result in results) == {"accepted": 20, "repeated": 40}


def flood(world: World, late: int, repeated: int) -> None:
    """`late` reports of attempts that are over and `repeated` identical ones: none moves anything."""
    version = world.line(stations=["build", "ship"])
    tasks = [world.start(version) for _ in range(10)]
    old = [world.report_of(world.started(task)) for task in tasks]
    for task in tasks:
        world.lose(task)
    accepted = [world.report_of(world.started(task)) for task in tasks]
    engine.report(accepted)
    before = [(task.pk, world.at(task), task.decisions.count()) for task in tasks]
    late_ones = [
        replace(old[n % 10], outcome={"result": "failure", "summary": str(n % 100)}) for n in range(late)
    ]
    repeats = [accepted[n % 10] for n in range(repeated)]
    mixed = [report for pair in zip(late_ones, repeats, strict=True) for report in pair]
    parts = [mixed[n : n + 50] for n in range(0, len(mixed), 50)]
    acts = [partial(engine.report, part) for part in parts]
    results = [result for batch in at_once(acts, 8) for result in batch]
    assert Counter(result.status for result in results) == {"ignored": late, "repeated": repeated}
    assert [(task.pk, world.at(task), task.decisions.count()) for task in tasks] == before
    assert sum(IgnoredReport.objects.values_list("count", flat=True)) == late
    assert find_violations() == []


@pytest.mark.wide
def test_late_and_repeated_reports_move_nothing(world: World) -> None:
    flood(world, late=200, repeated=200)


@pytest.mark.soak
def test_five_thousand_late_and_five_thousand_repeated_reports_move_nothing(world: World) -> None:
    flood(world, late=5000, repeated=5000)


@pytest.mark.wide
def test_branches_that_deliver_at_once_from_two_workers_merge_once(world: World) -> None:
    plan = station("plan", {"id": "fork", "to": ["left", "right"]})
    branches = [station(key, {"id": f"{key}-on", "to": "meet"}) for key in ("left", "right")]
    meet = station("meet", {"id": "out", "to": "completed"}, join={"wait_for": ["left", "right"]})
    version = world.line(stations=[plan, *branches, meet])
    tasks = [world.start(version) for _ in range(6)]
    for task in tasks:
        world.report(task)
    reports = [world.report_of(world.started(task, key)) for task in tasks for key in ("left", "right")]
    results = at_once([partial(engine.report, [each]) for each in reports])
    assert {result[0].status for result in results} == {"accepted"}
    for task in tasks:
        assert world.kinds(task).count("token.joined") == 1
        assert world.at(task) == ["meet"]
    assert find_violations([task.pk for task in tasks]) == []
