"""Schedules on the command line: saved with their next runs, listed, paused, tried, and their log."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from pipelines.models import Task, Trigger
from pipelines.work.scheduler import timers
from tests.cli.conftest import Gateline
from tests.factories import World, station

Cli = Callable[..., Gateline]
SLOT = datetime(2026, 11, 20, 6, 30, tzinfo=UTC)


def test_a_schedule_is_saved_listed_paused_tried_and_deleted(cli: Cli, world: World) -> None:
    world.line(
        stations=[station("work", kind="manual")],
        inputs=[{"key": "count", "type": "number", "label": "How many", "required": True}],
    )
    mine = cli(world.operator)
    options = ("--cron", "30 7 * * 1-5", "--zone", "Europe/Berlin", "--missed", "skip")
    said = mine.ok("schedule", "line", "count=3", "--title", "Upkeep", *options)
    trigger = Trigger.objects.get()
    assert said.startswith(f"{trigger.pk}  Every weekday at 07:30, Europe/Berlin\n")
    assert said.count(" 07:30  in ") == 5
    assert (trigger.inputs, trigger.title, trigger.options["missed"]) == ({"count": 3}, "Upkeep", "skip")
    assert trigger.one_at_a_time

    number = str(trigger.pk)
    assert "Every weekday at 07:30" in mine.ok("triggers", "line")
    assert mine.json("triggers")[0]["id"] == trigger.pk
    assert mine.ok("triggers", "line", "--try", number) == "Would start “Upkeep”.\n"
    assert mine.ok("triggers", "line", "--pause", number) == "Paused.\n"
    assert "paused" in mine.ok("triggers")
    assert mine.ok("triggers", "line", "--resume", number).startswith("Resumed. Next run: in ")
    Trigger.objects.update(next_at=SLOT)
    timers.run_due_timers_and_triggers(now=SLOT)
    assert Task.objects.get().name in mine.ok("triggers", "line", "--runs", number)
    assert "started" in mine.ok("triggers", "line")
    assert "has not ended yet" in mine.ok("triggers", "line", "--try", number)

    refused = mine.run("triggers", "line", "--delete", number)
    assert refused.returncode and "--yes" in refused.stderr
    mine.ok("triggers", "line", "--delete", number, "--yes")
    assert not Trigger.objects.exists()


@pytest.mark.wide
def test_what_is_wrong_says_where_and_what_to_do(cli: Cli, world: World) -> None:
    world.line(stations=[station("work")])
    mine = cli(world.operator)
    wrong = mine.run("schedule", "line", "--cron", "every night")
    assert (wrong.returncode, "options.cron" in wrong.stderr, "five fields" in wrong.stderr) == (
        7,
        True,
        True,
    )
    assert "Of which line?" in mine.run("triggers", "--pause", "3").stderr
    assert "one thing at a time" in mine.run("triggers", "line", "--pause", "3", "--try", "3").stderr
    assert mine.run("triggers", "line", "--pause", "3").returncode
    assert mine.ok("schedule", "line").splitlines()[0].endswith("Every day at 02:00, UTC")


@pytest.mark.wide
def test_a_webhook_is_saved_listed_and_its_secret_changed(cli: Cli, world: World) -> None:
    inputs = [{"key": "request", "type": "text", "required": True}]
    world.line(stations=[station("work", kind="manual")], inputs=inputs)
    mine = cli(world.operator)
    saved = mine.ok("webhook", "line", "--name", "Desk", "--take", "request=text", "--title", "title")
    trigger = Trigger.objects.get()
    first, address, secret = saved.splitlines()
    assert first == f"{trigger.pk}  Desk, Standard Webhooks"
    assert "/api/hooks/" in address and secret.strip().startswith("whsec_")
    assert (trigger.options["inputs"], trigger.options["title"]) == ({"request": "text"}, "title")
    assert "when called" in mine.ok("triggers", "line")
    number = str(trigger.pk)
    rotated = mine.ok("triggers", "line", "--rotate", number)
    assert rotated.startswith("whsec_") and rotated.strip() != secret.strip()
    assert mine.ok("triggers", "line", "--pause", number) == "Paused.\n"
    assert mine.ok("triggers", "line", "--resume", number) == "Resumed.\n"
    assert mine.json("webhook", "line", "request=fixed", "--name", "Other")["secret"]
    wrong = mine.run("webhook", "line", "--take", "request=$[")
    assert wrong.returncode == 7 and "options.inputs.request" in wrong.stderr


@pytest.mark.wide
def test_a_line_starts_after_another(cli: Cli, world: World) -> None:
    inputs = [{"key": "request", "type": "text", "required": True}]
    world.line(stations=[station("work", kind="manual")], inputs=inputs)
    build = world.line(key="build", stations=[station("make")])
    mine = cli(world.operator)
    saved = mine.ok("after", "build", "line", "--take", "request=outputs.summary", "--when", "failed")
    trigger = Trigger.objects.get()
    assert saved == f"{trigger.pk}  After a task of {build.line.name} fails\n"
    assert trigger.options["inputs"] == {"request": "outputs.summary"} and trigger.source == build.line
    assert "after a task" in mine.ok("triggers", "line")
    circle = mine.run("after", "line", "build")
    assert circle.returncode == 7 and "without end" in circle.stderr and "options.line" in circle.stderr
    assert mine.json("after", "build", "line", "request=fixed")["kind"] == "line_end"
