"""What reports are judged by is found by keys: a report costs the same, however many jobs others have."""

from __future__ import annotations

import pytest

from pipelines.work.statements import READ_REPORTED
from pipelines.work.transport.local.station_values import masker_by_task_id
from tests.factories import World
from tests.plans import among_others, by_key, jobs_are_read_by_key, plan

# The others have no history of their own.
pytestmark = [pytest.mark.django_db, pytest.mark.broken]


def test_no_report_reads_the_jobs_of_others(world: World) -> None:
    task = among_others(world.start(world.line(stations=["a", "b"])))
    job = world.started(task)
    project = task.project_id
    steps = plan(READ_REPORTED, [[world.worker.pk], [1], project, [job.pk], project, [job.pk]])
    assert len(steps) == 3
    assert all(map(by_key, steps)), steps


def test_no_masker_reads_the_jobs_of_others(world: World) -> None:
    task = among_others(world.start(world.line(stations=["a", "b"])))
    with jobs_are_read_by_key():
        assert task.pk in masker_by_task_id([task])
