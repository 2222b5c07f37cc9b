"""Reports that come while another is being recorded go together (pipelines/work/runners/gathering.py)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections, transaction

from pipelines import engine
from pipelines.engine import Report
from pipelines.models import Event, Task
from pipelines.work.runners.gathering import Gathering, of_project
from pipelines.work.transport.protocol import ReportAnswer
from tests.factories import World
from tests.waiting import LONG, until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]
OTHERS = 4


def test_what_waits_for_one_goes_together_and_each_has_its_own_answer(world: World) -> None:
    line = world.line(stations=["build", "test"])
    begun = [world.start(line) for _ in range(1 + OTHERS)]
    said = [_report(world, task) for task in begun]
    faulty = said[-1]
    said[-1] = Report(faulty.job_id, faulty.attempt, faulty.lease, {"result": "?"}, by=faulty.by)
    gathering = Gathering(lanes=1, patience=LONG)

    with ThreadPoolExecutor(len(said)) as pool:
        with transaction.atomic():
            Task.objects.select_for_update().get(pk=begun[0].pk)
            first = pool.submit(_told, gathering, said[0])
            until(lambda: not gathering._lanes._value and not gathering._waiting)
            rest = [pool.submit(_told, gathering, each) for each in said[1:]]
            until(lambda: len(gathering._waiting) == OTHERS)
        answers = [each.result()[0].status for each in (first, *rest)]
    assert answers == ["accepted"] * OTHERS + ["invalid"]
    moved = Event.objects.filter(kind="token.moved", task__in=begun[1:])
    assert moved.count() == OTHERS - 1
    assert len(set(moved.values_list("at", flat=True))) == 1, "one transaction, one time"


def test_who_gets_no_lane_goes_alone_and_nobody_waits_for_a_locked_task_of_others(world: World) -> None:
    line = world.line(stations=["build", "test"])
    locked, free = world.start(line), world.start(line)
    said = [_report(world, task) for task in (locked, free)]
    gathering = Gathering(lanes=1)
    with ThreadPoolExecutor(2) as pool:
        with transaction.atomic():
            Task.objects.select_for_update().get(pk=locked.pk)
            first = pool.submit(_told, gathering, said[0])
            until(lambda: not gathering._lanes._value and not gathering._waiting)
            [answer] = pool.submit(_told, gathering, said[1]).result(LONG)
            assert answer.status == "accepted" and not first.done()
        assert first.result()[0].status == "accepted"


def test_each_project_has_lanes_of_its_own() -> None:
    assert of_project(1) is of_project(1)
    assert of_project(1) is not of_project(2)


def _told(gathering: Gathering, report: Report) -> list[ReportAnswer]:
    try:
        return gathering.deliver([report])
    finally:
        connections.close_all()


def _report(world: World, task: Task) -> Report:
    job = engine.start(task.jobs.get().pk, world.claim())
    assert job is not None
    by = f"worker:{world.worker.pk}"
    return Report(job.pk, job.attempt, job.lease_key, {"result": "success"}, by=by, observed_by=by)
