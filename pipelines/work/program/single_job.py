"""Source of the work of a runner that was started for one job: it takes one, and that is the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

import structlog

from pipelines.ports.terms import DRIVE
from pipelines.work.transport.http.job_polling import WorkSource
from pipelines.work.transport.protocol import ServerAway
from pipelines.work.worker.running import RunningWork
from pipelines.work.worker.service import TakesWork

log = structlog.get_logger(__name__)
PAUSE_SECONDS: Final = 1.0
"""Between two questions whether anything waits."""


class SingleJob:
    """Source of one job. `seconds`: how long it waits for it."""

    # It asks by itself
    has_queued_jobs = False
    on_queued: Callable[[], object] = tuple

    def __init__(self, transport: WorkSource, seconds: float) -> None:
        self._transport, self._seconds = transport, seconds
        self._ended = asyncio.Event()
        self.registered = asyncio.Event()
        """Set once the server knows its runner."""
        self.work: RunningWork | None = None
        """The job, from when it began."""

    async def run(self, driver: TakesWork, connected_for: Callable[[], float]) -> None:
        """Wait for a job and do it."""
        self.registered.set()
        until = time.monotonic() + self._seconds
        while not self._ended.is_set():
            for job_id, queue in (await self._ask_for_waiting_drive_job()).items():
                await asyncio.shield(driver.spawn(driver.drive_job(job_id, queue)))
                # Somebody else may have been first
                if (work := driver.latest) is not None:
                    self.work = work
                    return
            if time.monotonic() >= until:
                return
            await self._wait_a_moment()

    async def _ask_for_waiting_drive_job(self) -> dict[int, str]:
        try:
            return await self._transport.waiting({DRIVE: 1})
        except ServerAway as error:
            log.warning("server_away", error=str(error)[:200])
            return {}

    async def _wait_a_moment(self) -> None:
        try:
            async with asyncio.timeout(PAUSE_SECONDS):
                await self._ended.wait()
        except TimeoutError:
            return

    def stop(self) -> None:
        """Ask for no work any more."""
        self._ended.set()

    def end(self) -> None:
        self._ended.set()

    def close(self) -> None:
        """Nothing is left open."""
