"""The queue's entry points for drawings of lines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import DatabaseError, InterfaceError, connection
from procrastinate import RetryStrategy
from procrastinate.contrib.django import app

from pipelines.lines import drawings
from pipelines.models import LineVersion
from pipelines.ports.queue_tasks import DRAW, DRAW_VERSION, DRAWINGS
from pipelines.web.lines.drawing import drawing_of_version

DRAWERS = ThreadPoolExecutor(max_workers=1, thread_name_prefix="drawings")
# A worker that is stopped in the middle leaves the ticket to the next.
STOPPED: tuple[Any, ...] = (asyncio.CancelledError,)
RETRY = RetryStrategy(
    max_attempts=4, exponential_wait=5, retry_exceptions=[DatabaseError, InterfaceError, *STOPPED]
)


@app.task(name=DRAW, queue=DRAWINGS, retry=RETRY)
async def draw(drawing_id: int) -> None:
    await _in_thread(drawings.draw, drawing_id)


@app.task(name=DRAW_VERSION, queue=DRAWINGS, retry=RETRY)
async def draw_version(version_id: int) -> None:
    await _in_thread(_request_version, version_id)


def _request_version(version_id: int) -> None:
    version = LineVersion.objects.select_related("line").get(pk=version_id)
    drawing_of_version(version, version.line.project_id)


async def _in_thread(function: Callable[[int], None], pk: int) -> None:
    def run() -> None:
        try:
            function(pk)
        finally:
            # A thread of a pool has no request at whose end Django would close it
            connection.close()

    await asyncio.get_running_loop().run_in_executor(DRAWERS, run)
