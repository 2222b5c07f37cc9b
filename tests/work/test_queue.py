"""Tickets come by notices and at their times: here nobody looks by himself within an hour."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from pipelines.ports import clock, due_notices, queue
from pipelines.ports.terms import DRIVE, QUICK
from pipelines.work.scheduler import queues
from pipelines.work.scheduler.scheduler import Scheduler
from tests.waiting import eventually
from tests.work.driving import in_thread

pytestmark = pytest.mark.django_db(transaction=True)
LISTENERS = f"""FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN "{due_notices.CHANNEL}"'"""
"""Those of the queue: a web process beside listens, too."""


class Taken:
    """What stands for the driver of a worker: it notes the tokens of tickets, and holds some up."""

    def __init__(self, *held_up: int) -> None:
        self.tokens: list[int] = []
        self.held_up = {token: asyncio.Event() for token in held_up}

    async def drive_ticket(self, token_id: int, queue: str) -> None:
        self.tokens.append(token_id)
        if token_id in self.held_up:
            await self.held_up[token_id].wait()

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.create_task(work)

    async def drive_job(self, job_id: int, queue: str) -> None:
        raise AssertionError("there are tickets alone")

    async def try_station(self, trial: object) -> None:
        raise AssertionError("there are tickets alone")

    async def has(self, *tokens: int) -> None:
        await eventually(lambda: sorted(self.tokens) == sorted(tokens), lambda: f"{tokens}: {self.tokens}")


@pytest.fixture
def scheduling(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setattr(queues, "POLL_SECONDS", 3600.0)
    monkeypatch.setattr(queues, "GRACE_SECONDS", 3600.0)

    @asynccontextmanager
    async def start(*held_up: int) -> AsyncIterator[Taken]:
        taken, scheduler = Taken(*held_up), Scheduler(1, 2.0)
        # No sign of a worker's life: nothing is swept.
        running = asyncio.create_task(scheduler.run(taken, lambda: 0.0))
        await eventually(lambda: in_thread(_idle) if not running.done() else running.result())
        yield taken
        scheduler.end()
        await eventually(running.done, "the end")
        await running
        await asyncio.to_thread(scheduler.close)

    return start


def _idle() -> bool:
    """Whether the worker has looked and found nothing, and now listens."""
    return _ask(f"SELECT EXISTS (SELECT {LISTENERS})") and _ask(
        "SELECT EXISTS (SELECT FROM procrastinate_workers)"
    )


def _ask(text: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(text)
        return cursor.fetchone()[0]


async def test_a_ticket_is_taken_by_its_notice(scheduling: Callable[..., Any]) -> None:
    async with scheduling() as taken:
        for token in (1, 2, 3):
            await in_thread(queue.enqueue_token_tickets, [token], QUICK)
            await taken.has(*range(1, token + 1))


async def test_what_came_while_nobody_listened_is_looked_for(scheduling: Callable[..., Any]) -> None:
    def cut_off() -> None:
        with transaction.atomic():
            assert _ask(f"SELECT count(pg_terminate_backend(pid)) {LISTENERS}") == 1
            # Written before there is another connection, which comes after a pause.
            queue.enqueue_token_tickets([1], QUICK)

    async with scheduling() as taken:
        await in_thread(cut_off)
        await taken.has(1)
        await in_thread(queue.enqueue_token_tickets, [2], QUICK)
        await taken.has(1, 2)


async def test_a_ticket_with_a_time_is_taken_when_it_has_come(scheduling: Callable[..., Any]) -> None:
    async with scheduling() as taken:
        at = await in_thread(clock.now) + timedelta(milliseconds=300)
        await in_thread(lambda: queue.enqueue_token_tickets([1], QUICK, not_before=at))
        await taken.has(1)
        assert await in_thread(clock.now) >= at


async def test_a_queue_without_seats_holds_up_no_other(scheduling: Callable[..., Any]) -> None:
    async with scheduling(1) as taken:
        await in_thread(queue.enqueue_token_tickets, [1, 2], DRIVE)
        await taken.has(1)
        await in_thread(queue.enqueue_token_tickets, [3], QUICK)
        await taken.has(1, 3)
        taken.held_up[1].set()
        await taken.has(1, 2, 3)


async def test_a_stop_does_not_wait_for_drives(scheduling: Callable[..., Any]) -> None:
    async with scheduling(1) as taken:
        await in_thread(queue.enqueue_token_tickets, [1], DRIVE)
        await taken.has(1)
    # The drive goes on by its lease; its ticket is spent.
    assert not await in_thread(
        _ask, "SELECT EXISTS (SELECT FROM procrastinate_jobs WHERE status <> 'succeeded')"
    )
