"""A driver on the real database, with real commands, in the process of the test."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from django.db import connection

from pipelines.models import Job, Task, Token
from pipelines.work import logs
from pipelines.work.config import WorkerConfig
from pipelines.work.processes.isolation import Isolation
from pipelines.work.transport.local.transport import LocalTransport
from pipelines.work.worker.drive import Driver
from pipelines.work.workspaces import Folders
from tests.factories import make_worker, station
from tests.waiting import LONG

PYTHON = sys.executable


@dataclass
class Bench:
    """Drivers of one test."""

    base: Path

    @asynccontextmanager
    async def driver(self, **more: Any) -> AsyncIterator[Driver]:
        # A busy machine must not give a turn to others before the token rests.
        given: dict[str, Any] = {
            "workspaces": self.base,
            "isolation": Isolation("none"),
            "engine_threads": 2,
            "most_seconds": LONG,
        }
        config = WorkerConfig(**(given | more))
        worker = await in_thread(
            partial(make_worker, answers=sorted(config.answers), offers=sorted(config.offers))
        )
        transport = LocalTransport(worker.pk, config)
        folders = Folders(self.base, worker.pk, certificates=config.authorities.bundle_or_empty)
        driver = Driver(config, transport, folders)
        try:
            yield driver
        finally:
            await driver.cancel_every_drive()
            await asyncio.to_thread(transport.close)
            folders.close()


async def in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """With a connection that is closed again."""

    def call() -> Any:
        try:
            return function(*arguments)
        finally:
            connection.close()

    return await asyncio.to_thread(call)


def drive(bench: Bench, task: Task, **more: Any) -> None:
    """Until the token rests."""
    drive_token(bench, Token.objects.values_list("pk", flat=True).get(task=task), **more)


def drive_token(bench: Bench, token: int, **more: Any) -> None:
    async def go() -> None:
        async with bench.driver(**more) as driver:
            await driver.drive_token(token)

    asyncio.run(go())


def command(key: str, program: str, *rules: Any, **more: Any) -> dict[str, Any]:
    work = {"argv": [PYTHON, "-c", program], **more.pop("work", {})}
    return station(key, *rules, kind="command", work=work, **more)


def text_of(job: Job) -> str:
    return "".join(logs.read_log_text(job, job.attempt))


def done(task: Task, key: str, visit: int = 1) -> Job:
    return Job.objects.get(task=task, station=key, visit=visit)


def outcome_of(task: Task, key: str, visit: int = 1) -> dict[str, Any]:
    """As it was recorded."""
    found = done(task, key, visit).outcome
    assert isinstance(found, dict)
    return found


def tickets() -> int:
    """How many wait in the queue, drawings of lines left aside."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM procrastinate_jobs WHERE queue_name <> 'drawings'")
        return int(cursor.fetchone()[0])
