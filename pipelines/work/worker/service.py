"""Worker process: registers, renews, drives, sweeps, and stops in an orderly way."""

from __future__ import annotations

import asyncio
import math
import os
import platform
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Collection, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

import structlog

from pipelines.ports.idle_pauses import LOOK_AROUND, RENEWAL, seconds_until_part_of_period
from pipelines.ports.terms import DRIVE, EVALUATE, QUICK
from pipelines.work.agents.installed import (
    describe_agents,
    installed_agents_on_path,
    installed_tools_on_path,
    registry_hosts_by_program,
    versions_of_tools,
)
from pipelines.work.config import WorkerConfig
from pipelines.work.git.mirror import Mirrors
from pipelines.work.transport.protocol import ServerAway, Transport, TrialTransport
from pipelines.work.worker.drive import Driver
from pipelines.work.worker.prepared_files import PreparedFiles
from pipelines.work.worker.running import RunningWork
from pipelines.work.workspaces import Folders

log = structlog.get_logger(__name__)
HOUSEKEEPING_SECONDS = 2.0
AGAIN_SECONDS = 0.2
MIRRORS_SECONDS = 3600.0
# A ticket is on its way as soon as the job is there; a job older than this without one is nobody's.
UNATTENDED_SECONDS = 3.0


class TakesWork(Protocol):
    latest: RunningWork | None

    async def drive_ticket(self, token_id: int, queue: str) -> None: ...

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]: ...

    async def drive_job(self, job_id: int, queue: str) -> None: ...

    async def try_station(self, trial: TrialTransport) -> None: ...


class JobSource(Protocol):
    """Source of a worker's work in the same process: the scheduler beside a server's worker, polling beside a
    runner's. `has_queued_jobs`: whether any may wait without a ticket; `on_queued` is called when the first does."""

    has_queued_jobs: bool
    on_queued: Callable[[], object]

    async def run(self, driver: TakesWork, connected_for: Callable[[], float]) -> None:
        """Run until `end`."""

    def stop(self) -> None:
        """Hand out no ticket any more."""

    def end(self) -> None: ...

    def close(self) -> None:
        """Close after the end, in a thread."""


class Service:
    def __init__(
        self, worker: uuid.UUID, config: WorkerConfig, name: str, transport: Transport, job_source: JobSource
    ) -> None:
        self.id, self.config, self.name = worker, config, name
        self.transport, self.beside = transport, job_source
        self._stop = asyncio.Event()
        self._now = asyncio.Event()
        self._to_look = asyncio.Event()
        job_source.on_queued = self._to_look.set
        self._told_no_space = False

    def stop(self) -> None:
        """A planned stop; the second time, at once."""
        if self._stop.is_set():
            self._now.set()
        self._stop.set()

    async def run(self) -> None:
        """Run until `stop`. Restarts of the database are waited out."""
        await self.transport.register(self._facts_of_worker())
        # Files are copied and hashed in these threads; asyncio's own few would let one large workspace hold up all.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(16, "files"))
        folders = await asyncio.to_thread(
            Folders,
            self.config.workspaces,
            self.id,
            certificates=self.config.authorities.bundle_or_empty,
        )
        driver = Driver(self.config, self.transport, folders)
        renewal = self._new_renewal(driver)

        def on_begin() -> None:
            renewal.expect_lease()
            self._to_look.set()

        driver.on_begin = on_begin
        renewal.start()
        try:
            await self._work_until_stop(driver, renewal, folders)
        finally:
            await asyncio.to_thread(self._close, renewal, folders)

    async def _work_until_stop(self, driver: Driver, renewal: Renewal, folders: Folders) -> None:
        log.info("worker_ready", worker=str(self.id), isolation=self.config.isolation.name)
        source_task = asyncio.create_task(self.beside.run(driver, renewal.seconds_since_failed_renewal))
        housekeeping = asyncio.create_task(self._clean_up_forever(driver, folders))
        agents = asyncio.create_task(self._report_installed_programs())
        stopping = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait((source_task, housekeeping, stopping), return_when=asyncio.FIRST_COMPLETED)
            await self._finish_running_work(driver)
        finally:
            housekeeping.cancel()
            agents.cancel()
            self.beside.end()
            await asyncio.gather(source_task, housekeeping, agents, return_exceptions=True)
        # Raised only now: what failed ends the worker, but in order, as a stop does
        for task in (source_task, housekeeping, agents):
            if not task.cancelled() and (error := task.exception()):
                raise error

    def _close(self, renewal: Renewal, folders: Folders) -> None:
        """Close everything, in a thread: it waits."""
        renewal.end()
        folders.close()
        self.beside.close()
        self.transport.close()

    # A planned stop

    async def _finish_running_work(self, driver: Driver) -> None:
        """Start no new station. Running work may finish within `drain_seconds`; then its processes are killed and it
        is queued again without counting an attempt (house §2)."""
        log.info("worker_stopping", worker=str(self.id), running=driver.drive_count)
        driver.stopping = True
        self.beside.stop()
        await self._try_without_server(partial(self.transport.update_worker, stopping=True))
        hurry = asyncio.create_task(self._now.wait())
        idle = asyncio.create_task(driver.wait_until_idle())
        await asyncio.wait(
            (hurry, idle), timeout=self.config.drain_seconds, return_when=asyncio.FIRST_COMPLETED
        )
        hurry.cancel()
        idle.cancel()
        await driver.cancel_every_drive()
        await self._try_without_server(self.transport.sign_off)

    async def _try_without_server(self, work: Callable[[], Awaitable[object]]) -> None:
        """Stopping goes on without the server too: then the leases expire."""
        try:
            async with asyncio.timeout(10):
                await work()
        except (ServerAway, TimeoutError) as error:
            log.warning("stopping_without_server", error=str(error))

    # What comes round

    async def _clean_up_forever(self, driver: Driver, folders: Folders) -> None:
        removed = await asyncio.to_thread(folders.remove_folders_of_dead_workers)
        if removed:
            log.info("old_folders_removed", workers=removed)
        # So the first round looks at once
        looked_at = -MIRRORS_SECONDS
        while True:
            if time.monotonic() - looked_at >= MIRRORS_SECONDS:
                looked_at = time.monotonic()
                await self._trim_caches()
            try:
                more = await self._drive_unattended_and_tell_if_more(driver)
                await self._report_disk_space(driver)
            except ServerAway as error:
                more = False
                log.warning("housekeeping_waits", error=str(error))
            if more:
                await asyncio.sleep(AGAIN_SECONDS)
            elif self.beside.has_queued_jobs or driver.drive_count or driver.execution.no_space:
                await asyncio.sleep(HOUSEKEEPING_SECONDS)
            else:
                self._to_look.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._to_look.wait(), seconds_until_part_of_period(LOOK_AROUND))

    async def _trim_caches(self) -> None:
        """Copies of repositories that nobody used for long, or that are too large together."""
        try:
            removed = await asyncio.to_thread(Mirrors(self.config.workspaces).remove_unused_mirrors)
            await asyncio.to_thread(PreparedFiles(self.config.workspaces).remove_unused_entries)
            if self.config.images is not None:
                await asyncio.to_thread(self.config.images.remove_unused_images)
        except OSError as error:
            log.warning("mirrors_not_expired", error=str(error))
            return
        if removed:
            log.info("mirrors_removed", count=len(removed))

    async def _report_installed_programs(self) -> None:
        """Report which coding agents and tools are installed; again where one was added, replaced or removed."""
        path, known = self.config.station_path, None
        while True:
            inventory = await asyncio.to_thread(
                lambda: (installed_agents_on_path(path), installed_tools_on_path(path))
            )
            if inventory != known:
                try:
                    agents = await asyncio.to_thread(describe_agents, inventory[0], path)
                    tools_here = await asyncio.to_thread(versions_of_tools, inventory[1], path)
                    hosts = await asyncio.to_thread(registry_hosts_by_program, inventory[1], path)
                    await self.transport.update_worker(agents=agents, programs=tools_here, registries=hosts)
                    known = inventory
                except ServerAway as error:
                    log.warning("agents_not_told", error=str(error))
            await asyncio.sleep(seconds_until_part_of_period(LOOK_AROUND))

    async def _drive_unattended_and_tell_if_more(self, driver: Driver) -> bool:
        """Drive what waits without a ticket. Return whether there may be more of it."""
        if not self.beside.has_queued_jobs:
            return False
        most = self.config.concurrency
        # Work that takes no time goes on where all seats for stations are taken.
        room = {QUICK: most, EVALUATE: most, **({} if driver.has_no_seat_for_drives else {DRIVE: most})}
        jobs = await self.transport.unattended_jobs(UNATTENDED_SECONDS, room)
        for job_id, queue in jobs.items():
            driver.spawn(driver.drive_job(job_id, queue))
        return bool(jobs)

    async def _report_disk_space(self, driver: Driver) -> None:
        """Tell in the worker's row that a disk is full, and that there is room again."""
        if driver.execution.no_space and self._told_no_space:
            driver.execution.no_space = not await asyncio.to_thread(
                self.transport.has_room, self.config.workspaces
            )
        if driver.execution.no_space != self._told_no_space:
            await self.transport.update_worker(no_space=driver.execution.no_space)
            self._told_no_space = driver.execution.no_space

    def _new_renewal(self, driver: Driver) -> Renewal:
        loop = asyncio.get_running_loop()

        def on_leases(leases: dict[int, uuid.UUID], asked_at: float) -> None:
            # Called in the thread of the renewal; `Running` is changed in the loop's only. An idle loop is not woken.
            if leases or not driver.running.is_idle:
                loop.call_soon_threadsafe(self._settle_leases, driver, leases, asked_at)

        def on_server_cut_off() -> None:
            loop.call_soon_threadsafe(driver.running.cancel_all_as_lost)

        return Renewal(
            self.transport,
            self.config.lease_seconds,
            self.config.heartbeat_seconds,
            lambda: frozenset(driver.running.abandoned),
            lambda: driver.drive_count > 0,
            on_leases,
            on_server_cut_off,
        )

    def _settle_leases(self, driver: Driver, leases: dict[int, uuid.UUID], asked_at: float) -> None:
        for job_id, key in driver.running.settle_leases_and_return_strays(leases, asked_at):
            log.warning("stray_lease", job=job_id)
            driver.spawn(self.transport.give_back_stray(job_id, key))

    def _facts_of_worker(self) -> dict[str, Any]:
        """Its row: what it is, and what it offers."""
        return {
            "name": self.name,
            "host": platform.node(),
            "pid": os.getpid(),
            "labels": sorted(self.config.labels),
            "owners": None if self.config.owners is None else sorted(self.config.owners),
            "answers": sorted(self.config.answers),
            "offers": sorted(self.config.offers),
            "isolation": self.config.isolation.name,
            "cuts_network": self.config.isolation.cuts_network,
            "limits_hosts": self.config.isolation.limits_hosts,
            "concurrency": self.config.concurrency,
        }


# The thread that renews all of a worker's leases at once: a busy event loop may not cost a lease (house §2).


# So many lease times without a renewal: others are at work on everything by now.
CUT_OFF = 6


class Renewal(threading.Thread):
    """`on_held(held, asked_at)` and `on_cut_off()` are called in this thread. `asked_at` as of time.monotonic()."""

    def __init__(
        self,
        transport: Transport,
        seconds: float,
        every: float,
        abandoned: Callable[[], Collection[int]],
        may_claim: Callable[[], bool],
        on_held: Callable[[dict[int, uuid.UUID], float], None],
        on_cut_off: Callable[[], None],
    ) -> None:
        super().__init__(name="renewal", daemon=True)
        self._transport, self._seconds, self._every = transport, seconds, every
        self._may_claim = may_claim
        self._abandoned, self._on_held, self._on_cut_off = abandoned, on_held, on_cut_off
        self._end, self._work_began = threading.Event(), threading.Event()
        # A worker that starts takes over at once what the dead have left; one that was cut off waits for the others.
        self._connected_since: float | None = -math.inf
        self._last = time.monotonic()

    def run(self) -> None:
        while not self._end.is_set():
            # Before the call: what begins after it cannot be in the answer
            self._work_began.clear()
            asked_at, leases = time.monotonic(), dict[int, uuid.UUID]()
            try:
                leases = self._transport.renew_leases(self._abandoned())
            except ServerAway as error:
                log.warning("leases_not_renewed", error=str(error))
                self._connected_since = None
                if time.monotonic() - self._last > CUT_OFF * self._seconds:
                    self._on_cut_off()
            else:
                self._last = asked_at
                if self._connected_since is None:
                    self._connected_since = asked_at
                self._on_held(leases, asked_at)
            # Sooner while cut off: after a restart leases are left alone for a few seconds only
            if self._connected_since is None:
                self._end.wait(min(self._every, 0.5))
            # Without a lease there is nothing to renew but that the worker lives; a drive that waits for its seat may
            # get one at any time, one that begins tells so.
            elif leases or self._may_claim() or self._work_began.wait(seconds_until_part_of_period(RENEWAL)):
                self._end.wait(self._every)
        self._transport.close_connection_of_thread()

    def expect_lease(self) -> None:
        """Go on renewing after a rest: work begins."""
        self._work_began.set()

    def seconds_since_failed_renewal(self) -> float:
        """Seconds since the last renewal that failed; infinite if none did."""
        since = self._connected_since
        return time.monotonic() - since if since is not None else 0.0

    def end(self) -> None:
        self._end.set()
        self._work_began.set()
        self.join(timeout=10)
