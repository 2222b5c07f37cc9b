"""Pausing and resuming on the pages of a task and a line (law §17)."""

from __future__ import annotations

import pytest
from django.urls import reverse

from pipelines.models import Pause
from pipelines.web.tasks.uploads import parsed_file_value_or_text
from pipelines.work.scheduler import timers
from tests.engine.test_pauses import line
from tests.factories import World, make_member
from tests.pages.conftest import As, at, client_of, text

pytestmark = pytest.mark.django_db


def test_a_task_is_paused_and_resumed_on_its_page(world: World, signed_in: As) -> None:
    task = world.start(line(world))
    client, page = signed_in(world.operator), at(world, "task", task.name)
    assert 'data-dialog="pause"' in text(client.get(page))
    paused = {"reason": "Wait for the release", "stops": "yes"}
    assert client.post(at(world, "task-pause", task.name), paused).status_code == 302
    timers.run_due_timers_and_triggers()
    shown = text(client.get(page))
    assert "This task is paused." in shown and "Wait for the release" in shown
    assert f"Paused by {world.operator}" in shown and 'data-dialog="pause"' not in shown
    assert client.post(at(world, "task-pause", task.name), paused).status_code == 409
    assert client.post(at(world, "task-resume", task.name)).status_code == 302
    timers.run_due_timers_and_triggers()
    assert world.status(task) == "queued"
    assert client.post(at(world, "task-resume", task.name)).status_code == 409


@pytest.mark.parametrize("station", ["", "build"])
def test_a_line_or_its_station_is_paused_on_its_page(world: World, signed_in: As, station: str) -> None:
    task = world.start(line(world))
    client, page = signed_in(world.operator), at(world, "line-live", "line")
    assert client.post(at(world, "line-pause", "line"), {"station": station}).status_code == 302
    timers.run_due_timers_and_triggers()
    subject = "build is paused." if station else "The line is paused."
    assert subject in text(client.get(page))
    shown = text(client.get(at(world, "task", task.name)))
    assert subject in shown and at(world, "task-resume", task.name) not in shown
    assert world.status(task) == "held"
    viewer = text(client_of(make_member(world.project, "viewer")).get(page))
    assert subject in viewer and at(world, "line-resume", "line") not in viewer
    assert client.post(at(world, "line-resume", "line"), {"station": station}).status_code == 302
    timers.run_due_timers_and_triggers()
    assert world.status(task) == "queued"


def test_what_no_station_is_called_and_no_reason_can_say_pauses_nothing(world: World, signed_in: As) -> None:
    world.start(line(world))
    client, address = signed_in(world.operator), at(world, "line-pause", "line")
    for typed in (
        {"station": "\x00"},
        {"station": "x" * 65},
        {"station": "nowhere"},
        {"reason": "x" * 20_001},
    ):
        assert client.post(address, typed).status_code == 302
        resumed = client.post(at(world, "line-resume", "line"), {"station": typed.get("station", "")})
        assert resumed.status_code == 302
    assert not Pause.objects.exists()


def test_numbers_and_texts_that_no_page_writes_are_no_failure(world: World, signed_in: As) -> None:
    task = world.start(line(world))
    client = signed_in(world.operator)
    for odd in ("²", "9" * 4_301):
        assert client.get(at(world, "line-versions", "line"), {"to": odd}).status_code < 500
    selected = {"action": "pause", "all": "yes", "matching": "?q=%2500"}
    assert client.post(reverse("task-bulk-commands"), selected).status_code < 500
    assert parsed_file_value_or_text("[" * 100_000) == "[" * 100_000
    assert world.status(task) == "queued"
