"""Source of a runner's work: it asks its server for what waits, whenever it has room."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, Protocol

import structlog

from pipelines.ports.terms import DRIVE, EVALUATE, QUICK
from pipelines.work.transport.protocol import ServerAway

log = structlog.get_logger(__name__)
IDLE_SECONDS: Final = 1.0
LEAST_SECONDS: Final = 0.2


class WorkSource(Protocol):
    async def waiting(self, room: Mapping[str, int]) -> dict[int, str]: ...


class JobDriver(Protocol):
    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]: ...

    async def drive_job(self, job_id: int, queue: str) -> None: ...


class JobPoller:
    """Poller beside the driver of a runner. Each queue has as many places as the driver."""

    # It asks for them itself
    has_queued_jobs = False
    on_queued: Callable[[], object] = tuple

    def __init__(self, transport: WorkSource, concurrency: int) -> None:
        self._transport, self._most = transport, concurrency
        self._driving: dict[asyncio.Task[None], str] = {}
        self._stopped, self._ended = False, asyncio.Event()
        self._free = asyncio.Event()

    async def run(self, driver: JobDriver, connected_for: Callable[[], float]) -> None:
        """Poll until `end`."""
        while not self._ended.is_set():
            room = {queue: self._most - self._count_driven_jobs(queue) for queue in (DRIVE, QUICK, EVALUATE)}
            room = {queue: number for queue, number in room.items() if number > 0}
            jobs = await self._waiting_jobs_if_server_answers(room) if room and not self._stopped else {}
            for job_id, queue in jobs.items():
                task = driver.spawn(driver.drive_job(job_id, queue))
                self._driving[task] = queue
                task.add_done_callback(self._note_end_of_drive)
            await self._wait_for_free_seat()

    async def _waiting_jobs_if_server_answers(self, room: Mapping[str, int]) -> dict[int, str]:
        try:
            return await self._transport.waiting(room)
        except ServerAway as error:
            log.warning("server_away", error=str(error)[:200])
            return {}

    async def _wait_for_free_seat(self) -> None:
        """A place that becomes free is soon filled. What was offered may be refused again and again while its agent has
        no room: then nothing is asked more often than this."""
        self._free.clear()
        await asyncio.sleep(LEAST_SECONDS)
        try:
            # Spread, so that runners that were started together do not ask together
            async with asyncio.timeout(IDLE_SECONDS * random.uniform(0.8, 1.2)):
                await self._free.wait()
        except TimeoutError:
            return

    def _count_driven_jobs(self, queue: str) -> int:
        return sum(driven_queue == queue for driven_queue in self._driving.values())

    def _note_end_of_drive(self, task: asyncio.Task[None]) -> None:
        self._driving.pop(task, None)
        self._free.set()

    def stop(self) -> None:
        """Ask for no work any more."""
        self._stopped = True

    def end(self) -> None:
        self._ended.set()
        self._free.set()

    def close(self) -> None:
        """Nothing is left open."""
