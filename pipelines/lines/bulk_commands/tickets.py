"""The queue's entry point for commands for many tasks."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

from django.db import DatabaseError, InterfaceError, connection
from procrastinate import RetryStrategy
from procrastinate.contrib.django import app

from pipelines.lines.bulk_commands.steps import work_on_bulk_command
from pipelines.ports.queue_tasks import BULK, WORK_ON_BULK

THREADS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="bulk")
# A worker that is stopped in the middle leaves the ticket to the next.
STOPPED: tuple[Any, ...] = (asyncio.CancelledError,)
RETRY = RetryStrategy(
    max_attempts=6, exponential_wait=3, retry_exceptions=[DatabaseError, InterfaceError, *STOPPED]
)


@app.task(name=WORK_ON_BULK, queue=BULK, retry=RETRY)
async def work_on_bulk(command_id: str) -> None:
    """Plan or do some of a command for many tasks; what is left has a ticket of its own."""
    await asyncio.get_running_loop().run_in_executor(THREADS, _work_in_thread, UUID(command_id))


def _work_in_thread(command_id: UUID) -> None:
    try:
        work_on_bulk_command(command_id)
    finally:
        # A thread of a pool has no request at whose end Django would close it
        connection.close()
