"""A label that no worker has is said on the pages of the line, the task and the runners, with the command to type."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from pipelines.models import Worker
from pipelines.queries import unclaimable_jobs
from tests.api.conftest import Apis, api
from tests.factories import World, station
from tests.pages.conftest import client_of

__all__ = ["api"]
pytestmark = [pytest.mark.django_db, pytest.mark.broken]
COMMAND: dict[str, Any] = {"kind": "command", "work": {"argv": ["true"]}}


def test_pages_and_the_api_name_the_label_and_the_command(world: World, api: Apis) -> None:
    version = world.line(stations=[station("a", labels=["gpu", "big"], **COMMAND)])
    task = world.start(version)
    names = [world.project.owner.key, world.project.key]
    pages = (
        reverse("task", args=[*names, task.name]),
        reverse("line", args=[*names, version.line.key]),
        reverse("project-runners", args=names),
    )
    reader = client_of(world.admin)
    for page in pages:
        text = reader.get(page).content.decode()
        assert "No active runner has the labels gpu, big." in text, page
        assert (
            "manage.py worker --label gpu --label big" in text
            and "Settings › Runners, and run the command shown there" in text
        ), page
    [position] = unclaimable_jobs.unclaimable_in_line(task.line_id)
    assert position.number == 1
    Worker.objects.update(labels=["big", "gpu"])
    for page in pages:
        assert "No active runner" not in reader.get(page).content.decode(), page


def test_labels_that_no_worker_has_at_once_are_named_together(world: World) -> None:
    Worker.objects.update(labels=["gpu"])
    other = Worker.objects.get()
    Worker.objects.create(
        name="other",
        host="x",
        pid=1,
        isolation="none",
        labels=["big"],
        started_at=other.started_at,
        seen_at=other.seen_at,
    )
    task = world.start(world.line(stations=[station("a", labels=["gpu", "big"], **COMMAND)]))
    [row] = unclaimable_jobs.unclaimable_in_project(task.project_id)
    assert row.sentence.text == "No active runner has the labels gpu, big."


def test_many_tasks_and_stations_cost_no_more_statements(world: World) -> None:
    def statements() -> int:
        unclaimable_jobs.unclaimable_in_project(world.project.pk)
        with CaptureQueriesContext(connection) as queries:
            unclaimable_jobs.unclaimable_in_project(world.project.pk)
        return len(queries)

    world.start(world.line(stations=[station("a", labels=["one"], **COMMAND)], key="one"))
    few = statements()
    for number in range(4):
        version = world.line(stations=[station("a", labels=[f"l{number}"], **COMMAND)], key=f"more-{number}")
        for _ in range(3):
            world.start(version)
    assert statements() == few
    assert sorted(row.number for row in unclaimable_jobs.unclaimable_in_project(world.project.pk)) == [
        1,
        3,
        3,
        3,
        3,
    ]
