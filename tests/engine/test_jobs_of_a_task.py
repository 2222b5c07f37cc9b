"""What is asked of one task reads its jobs, however many others there are: an index of jobs by task has those of
stations alone, and evaluations are jobs, too."""

from __future__ import annotations

import pytest

from pipelines.queries import usage
from tests.factories import World
from tests.plans import among_others, jobs_are_read_by_key

# The others have no history of their own.
pytestmark = [pytest.mark.django_db, pytest.mark.broken]


def test_what_a_task_cost_reads_no_jobs_of_others(world: World) -> None:
    task = among_others(world.start(world.line(stations=["a", "b"])))
    with jobs_are_read_by_key():
        usage.cost_of_task(task.pk)
