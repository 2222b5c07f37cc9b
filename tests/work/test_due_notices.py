"""Due times that are near are announced: here no worker looks by itself within an hour."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pipelines import engine
from pipelines.engine import PauseScope
from pipelines.lines import triggers
from pipelines.lines.triggers import TriggerRequest
from pipelines.models import Task
from pipelines.work.scheduler import timers
from pipelines.work.scheduler.scheduler import Scheduler
from tests.factories import World, document, station
from tests.waiting import eventually
from tests.work.driving import in_thread
from tests.work.test_queue import Taken

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def looking(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """A scheduler that looks once and then sleeps for an hour, unless it is told; with how often it has looked."""
    monkeypatch.setattr(timers, "LOOK_SECONDS", 3600.0)
    monkeypatch.setattr(timers, "AT_WORK_SECONDS", 3600.0)
    look_ahead, looks = timers.read_outlook, list[timers.Outlook]()

    def counted() -> timers.Outlook:
        looks.append(look_ahead())
        return looks[-1]

    monkeypatch.setattr(timers, "read_outlook", counted)

    @asynccontextmanager
    async def start() -> AsyncIterator[list[timers.Outlook]]:
        scheduler = Scheduler(1, 2.0)
        running = asyncio.create_task(scheduler.run(Taken(), lambda: 0.0))
        # At the start, and as soon as it listens
        await eventually(lambda: len(looks) >= 2 if not running.done() else running.result())
        yield looks
        scheduler.end()
        await eventually(running.done, "the end")
        await running
        await asyncio.to_thread(scheduler.close)

    return start


def _resting_line(world: World, rest: str) -> Task:
    stations = [station("rest", kind="wait", work={"for": rest})]
    return world.start(world.line(document(stations)))


async def test_a_wait_that_is_over_soon_is_not_slept_through(
    world: World, looking: Callable[[], Any]
) -> None:
    async with looking():
        task = await in_thread(_resting_line, world, "2s")
        await eventually(lambda: in_thread(_is_past, task), "the wait to be over")


async def test_a_pause_holds_a_task_at_once(world: World, looking: Callable[[], Any]) -> None:
    task = await in_thread(_resting_line, world, "1h")
    async with looking():
        scope = PauseScope(task.project, task=task)
        await in_thread(lambda: engine.pause(scope, user=world.operator))
        await eventually(lambda: in_thread(_clock_is_stopped, task), "the clock to stop")


async def test_a_new_schedule_is_looked_at(world: World, looking: Callable[[], Any]) -> None:
    version = await in_thread(lambda: world.line(document(["ship"])))
    async with looking() as looks:
        nightly = TriggerRequest({"cron": "0 3 * * *"})
        await in_thread(lambda: triggers.add_trigger(version.line, "schedule", nightly, by=world.operator))
        # Another look may come first: of the line's drawing, which is queued as well
        await eventually(lambda: looks[-1].due is not None, "a look that sees it")


def _is_past(task: Task) -> bool:
    return Task.objects.get(pk=task.pk).status == "completed"


def _clock_is_stopped(task: Task) -> bool:
    return task.dues.filter(paused_at__isnull=False).exists()
