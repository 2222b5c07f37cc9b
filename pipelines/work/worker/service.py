"""One worker process: registers, renews, drives, sweeps, and stops in an orderly way."""

from __future__ import annotations

import asyncio
import os
import platform
import uuid
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice

import structlog
from django.db import DatabaseError, InterfaceError, connection
from procrastinate import exceptions

from pipelines.models import Worker
from pipelines.ports import leases
from pipelines.ports.queue import DRIVE, EVALUATE
from pipelines.work import storage
from pipelines.work.config import WorkerConfig
from pipelines.work.database import Database
from pipelines.work.transport import jobs
from pipelines.work.transport.renewal import Renewal
from pipelines.work.worker import timers
from pipelines.work.worker.drive import Driver, Pools
from pipelines.work.worker.queues import Queue, open_app
from pipelines.work.worker.tickets import DRIVER
from pipelines.work.workspaces import Folders

log = structlog.get_logger(__name__)
HOUSEKEEPING_SECONDS = 2.0
HEARTBEATS_AFTER_AN_OUTAGE = 3
# A ticket is on its way as soon as the job is there; a job older than this without one is nobody's.
UNATTENDED_SECONDS = 3.0


class Service:
    def __init__(self, config: WorkerConfig, name: str) -> None:
        self.config, self.name, self.id = config, name, uuid.uuid4()
        self.pools = Pools(Database(config.engine_threads, "engine"), Database(2, "logs"))
        self.house = Database(1, "house")
        self.timing = Database(1, "timers")
        self._stop = asyncio.Event()
        self._now = asyncio.Event()
        self._after = 0
        self._told_no_space = False

    def stop(self) -> None:
        """A planned stop; the second time, at once."""
        if self._stop.is_set():
            self._now.set()
        self._stop.set()

    async def run(self) -> None:
        """Until `stop`. Restarts of the database are sat out."""
        await self.house.insist(self._register)
        # Files are copied and hashed in these threads; asyncio's own few would let one large workspace hold up all.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(16, "files"))
        folders = await asyncio.to_thread(Folders, self.config.workspaces, self.id)
        driver = Driver(self.id, self.config, self.pools, folders)
        renewal = self._renewal(driver)
        renewal.start()
        try:
            async with open_app() as app:
                at_once = self.config.concurrency
                queues = {DRIVE: at_once, EVALUATE: at_once, "mail": 4, "timers": 2}
                queue = Queue(app, queues, {DRIVER: driver})
                await self._work(driver, queue, renewal, folders)
        finally:
            await asyncio.to_thread(self._close, renewal, folders)

    async def _work(self, driver: Driver, queue: Queue, renewal: Renewal, folders: Folders) -> None:
        log.info("worker_ready", worker=str(self.id), isolation=self.config.isolation.name)
        queueing = asyncio.create_task(queue.run())
        housekeeping = asyncio.create_task(self._housekeeping(driver, queue, renewal, folders))
        timing = asyncio.create_task(self._timers())
        stopping = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait(
                (queueing, housekeeping, timing, stopping), return_when=asyncio.FIRST_COMPLETED
            )
            await self._drain(driver, queue)
        finally:
            housekeeping.cancel()
            timing.cancel()
            queue.stop()
            await asyncio.gather(queueing, housekeeping, timing, return_exceptions=True)
        for task in (queueing, housekeeping, timing):
            if not task.cancelled() and (error := task.exception()):
                raise error

    def _close(self, renewal: Renewal, folders: Folders) -> None:
        """In a thread: connections are not to be closed in the event loop's."""
        renewal.end()
        folders.close()
        for pool in (self.pools.engine, self.pools.logs, self.house, self.timing):
            pool.close()

    # A planned stop

    async def _drain(self, driver: Driver, queue: Queue) -> None:
        """No new station; what runs may end within `drain_seconds`; then its processes are killed and it is queued
        again, and no attempt is counted (house §2)."""
        log.info("worker_stopping", worker=str(self.id), running=driver.busy)
        driver.stopping = True
        queue.stop()
        await self._try(partial(self.house.insist, self._stopping))
        hurry = asyncio.create_task(self._now.wait())
        idle = asyncio.create_task(driver.idle())
        await asyncio.wait(
            (hurry, idle), timeout=self.config.drain_seconds, return_when=asyncio.FIRST_COMPLETED
        )
        hurry.cancel()
        idle.cancel()
        await driver.stop()
        await self._try(partial(self.house.insist, self._give_back_rest))
        await self._try(partial(self.house.insist, self._stopped))

    async def _try(self, work: Callable[[], Awaitable[object]]) -> None:
        """Stopping goes on without a database too: then the leases expire."""
        try:
            async with asyncio.timeout(10):
                await work()
        except (DatabaseError, InterfaceError, TimeoutError) as error:
            log.warning("stopping_without_database", error=str(error))

    # What comes round

    async def _housekeeping(self, driver: Driver, queue: Queue, renewal: Renewal, folders: Folders) -> None:
        removed = await asyncio.to_thread(folders.remove_those_of_the_dead)
        if removed:
            log.info("old_folders_removed", workers=removed)
        while True:
            try:
                await self._sweep(renewal)
                await queue.retry_stalled()
                await self._unattended(driver)
                await self._look_at_space(driver)
            except (DatabaseError, InterfaceError, exceptions.ConnectorException) as error:
                log.warning("housekeeping_waits", error=str(error).split("\n")[0])
            await asyncio.sleep(HOUSEKEEPING_SECONDS)

    async def _timers(self) -> None:
        """Sleeps until the next due time; one thread and connection of its own, so that nothing makes it late."""
        while True:
            pause = timers.LONGEST_SLEEP
            try:
                found = await self.timing.call(timers.run_due)
                if found:
                    log.info("due_times", **found)
                pause = await self.timing.call(timers.until_next)
            except (DatabaseError, InterfaceError) as error:
                log.warning("timers_wait", error=str(error).split("\n")[0])
            await asyncio.sleep(pause)

    async def _sweep(self, renewal: Renewal) -> None:
        # Back after a time without the database: the others need a moment to renew, too.
        if renewal.connected_for() < HEARTBEATS_AFTER_AN_OUTAGE * self.config.heartbeat_seconds:
            return
        found = await self.house.call(timers.sweep)
        if found:
            log.info("leases_swept", **found)

    async def _unattended(self, driver: Driver) -> None:
        if driver.full:
            return
        found, self._after = await self.house.call(
            jobs.unattended, driver.claim, UNATTENDED_SECONDS, self._after
        )
        for job_id, queue in islice(found.items(), self.config.concurrency):
            driver.spawn(driver.drive_job(job_id, queue))

    async def _look_at_space(self, driver: Driver) -> None:
        """Tell in the worker's row that a disk is full, and that there is room again."""
        if driver.no_space and self._told_no_space:
            driver.no_space = not await asyncio.to_thread(
                storage.has_room, storage.artifacts(), self.config.workspaces
            )
        if driver.no_space != self._told_no_space:
            await self.house.call(self._tell_space, driver.no_space)
            self._told_no_space = driver.no_space

    def _renewal(self, driver: Driver) -> Renewal:
        loop = asyncio.get_running_loop()

        def on_held(held: dict[int, uuid.UUID], asked_at: float) -> None:
            loop.call_soon_threadsafe(self._settle, driver, held, asked_at)

        def on_cut_off() -> None:
            loop.call_soon_threadsafe(driver.running.lose_all)

        return Renewal(
            self.id,
            self.config.lease_seconds,
            self.config.heartbeat_seconds,
            lambda: frozenset(driver.running.abandoned),
            on_held,
            on_cut_off,
        )

    def _settle(self, driver: Driver, held: dict[int, uuid.UUID], asked_at: float) -> None:
        for job_id, key in driver.running.settle(held, asked_at):
            log.warning("stray_lease", job=job_id)
            driver.spawn(self._give_back_stray(job_id, key))

    async def _give_back_stray(self, job_id: int, key: uuid.UUID) -> None:
        await self.pools.engine.insist(jobs.give_back_stray, job_id, key)

    # Its row

    def _register(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT clock_timestamp()")
            now = cursor.fetchone()[0]
        Worker.objects.update_or_create(
            id=self.id,
            defaults={
                "name": self.name,
                "host": platform.node(),
                "pid": os.getpid(),
                "labels": sorted(self.config.labels),
                "owners": None if self.config.owners is None else sorted(self.config.owners),
                "answers": sorted(self.config.answers),
                "offers": sorted(self.config.offers),
                "isolation": self.config.isolation.name,
                "cuts_network": self.config.isolation.cuts_network,
                "started_at": now,
                "seen_at": now,
            },
        )

    def _tell_space(self, no_space: bool) -> None:
        Worker.objects.filter(pk=self.id).update(no_space=no_space)

    def _stopping(self) -> None:
        Worker.objects.filter(pk=self.id).update(stopping=True)

    def _stopped(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE pipelines_worker SET stopped_at = clock_timestamp() WHERE id = %s", [self.id]
            )

    def _give_back_rest(self) -> None:
        for held in leases.held_by(self.id):
            jobs.give_back_stray(held.job_id, held.key)
