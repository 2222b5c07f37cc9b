"""Work that the installation does by itself next to a worker: tickets, mail, notices at hosts, due times,
expired leases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.utils import timezone
from django.utils.module_loading import import_string
from procrastinate import exceptions

from pipelines.models.plumbing.listener import Listener, default_conninfo
from pipelines.ports import due_notices
from pipelines.ports.code_host_notices import fail_notices_nobody_will_send
from pipelines.ports.due_notices import LOOK_SECONDS
from pipelines.ports.idle_pauses import OUTLOOK, seconds_until_part_of_period
from pipelines.ports.queue_tasks import BULK, CHANNELS, DRAWINGS, HOSTS, MAIL
from pipelines.ports.terms import DRIVE, EVALUATE, EVALUATIONS, QUICK, TRIALS
from pipelines.work.config import INSTANT_AT_ONCE
from pipelines.work.scheduler import timers
from pipelines.work.scheduler.known_tasks import import_tasks_of_queues
from pipelines.work.scheduler.queues import NOTICES, Queue, open_app
from pipelines.work.scheduler.tickets import DRIVER
from pipelines.work.transport.local.database import Database
from pipelines.work.worker.service import TakesWork

log = structlog.get_logger(__name__)
SWEEP_SECONDS = 2.0
BETWEEN_LOOKS_SECONDS = 0.5
"""At least, however many notices come."""
EXPIRY_SECONDS = 3600.0
HEARTBEATS_AFTER_AN_OUTAGE = 3
SIDE_QUEUES = {MAIL: 4, HOSTS: 2, CHANNELS: 2, TRIALS: 2, EVALUATIONS: 1, DRAWINGS: 1, BULK: 2}
"""How many at once of each queue that is not for stations of tasks (house §2)."""
QUEUES = (DRIVE, QUICK, EVALUATE, *SIDE_QUEUES)


class Scheduler:
    """`heartbeat`: of the worker beside it.

    :raises UnknownTask: a queue that it serves has a task that no module defines"""

    def __init__(self, at_once: int, heartbeat: float) -> None:
        self._concurrency = {DRIVE: at_once, QUICK: INSTANT_AT_ONCE, EVALUATE: at_once, **SIDE_QUEUES}
        import_tasks_of_queues(QUEUES)
        self._settled = HEARTBEATS_AFTER_AN_OUTAGE * heartbeat
        self._sweeping, self._timing = Database(1, "sweep"), Database(1, "timers")
        self._queue: Queue | None = None
        self._ended, self._to_sweep, self._to_look = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.has_queued_jobs = True
        """Whether there were any at the last look."""
        self.on_queued: Callable[[], object] = tuple

    async def run(self, driver: TakesWork, connected_for: Callable[[], float]) -> None:
        """Run until `end`. `seconds_since_failed_renewal`: seconds since the worker could not renew its leases."""
        loop = asyncio.get_running_loop()

        def request_look(_: object) -> None:
            loop.call_soon_threadsafe(self._look_for_tickets)

        address = settings.DATABASE_DIRECT_URL or default_conninfo()
        # A new connection looks, too: nobody tells again of what came while there was none.
        listener = Listener(address, (NOTICES, due_notices.CHANNEL), request_look, request_look)
        async with open_app() as app:
            queue = self._queue = Queue(app, self._concurrency, {DRIVER: driver}, self._sweeping)
            queueing = asyncio.create_task(queue.run())
            others = [
                asyncio.create_task(self._expire_leases_forever(queue, connected_for)),
                asyncio.create_task(self._run_timers_forever(queue)),
                asyncio.create_task(self._delete_expired_forever()),
            ]
            ended = asyncio.create_task(self._ended.wait())
            listener.start()
            try:
                # What fails ends all of it; a queue that was stopped is no failure, and times go on to be due.
                await asyncio.wait((ended, queueing, *others), return_when=asyncio.FIRST_COMPLETED)
                if queueing.done() and not queueing.exception():
                    await asyncio.wait((ended, *others), return_when=asyncio.FIRST_COMPLETED)
            finally:
                queue.stop()
                for task in (ended, *others):
                    task.cancel()
                await asyncio.gather(queueing, *others, return_exceptions=True)
                await asyncio.to_thread(listener.stop)
            for task in (queueing, *others):
                if not task.cancelled() and (error := task.exception()):
                    raise error

    def _look_for_tickets(self) -> None:
        """A ticket was written, or a due time that is near."""
        if self._queue is not None:
            self._queue.look_for_tickets()
        self._to_look.set()

    def stop(self) -> None:
        """Hand out no ticket any more."""
        if self._queue is not None:
            self._queue.stop()

    def end(self) -> None:
        self.stop()
        self._ended.set()

    def close(self) -> None:
        """Close the pools, in a thread: connections must not be closed in the event loop's."""
        for pool in (self._sweeping, self._timing):
            pool.close()

    async def _expire_leases_forever(self, queue: Queue, connected_for: Callable[[], float]) -> None:
        while True:
            await self._to_sweep.wait()
            self._to_sweep.clear()
            try:
                # Back after a time without the database: the others need a moment to renew, too.
                if connected_for() >= self._settled:
                    counts = await self._sweeping.call(timers.expire_due_leases)
                    if counts:
                        log.info("leases_swept", **counts)
                await queue.requeue_tickets_of_dead_workers()
                if unsent := await self._sweeping.call(fail_notices_nobody_will_send):
                    log.warning("notices_not_sent", count=unsent)
            except (DatabaseError, InterfaceError, exceptions.ConnectorException) as error:
                log.warning("housekeeping_waits", error=str(error).split("\n")[0])
            await asyncio.sleep(SWEEP_SECONDS)

    async def _delete_expired_forever(self) -> None:
        """Delete what has expired, in short transactions, so that leases which expire do not wait for it."""
        while True:
            try:
                for path in settings.EXPIRES:
                    # A few at a time: leases that expire meanwhile wait for no long transaction
                    while deleted := await self._sweeping.call(import_string(path), timezone.now()):
                        log.info("expired", by=path, count=deleted)
            except (DatabaseError, InterfaceError, OSError) as error:
                log.warning("expiry_waits", error=str(error).split("\n")[0])
            await asyncio.sleep(EXPIRY_SECONDS)

    async def _run_timers_forever(self, queue: Queue) -> None:
        """Sleeps until the next due time; one thread and connection of its own, so that nothing makes it late."""
        while True:
            was_announced = self._to_look.is_set()
            self._to_look.clear()
            try:
                outlook = await self._timing.call_until_connected(timers.read_outlook)
                if outlook.has_queued_jobs and not self.has_queued_jobs:
                    self.on_queued()
                self.has_queued_jobs = outlook.has_queued_jobs
                if outlook.to_sweep:
                    self._to_sweep.set()
                if outlook.has_due_ticket:
                    queue.look_for_tickets()
                pause = outlook.seconds_to_sleep
                if was_announced:
                    # Another worker may be about to take what was announced: its lease has to be seen
                    pause = min(pause, timers.AT_WORK_SECONDS)
                elif pause == LOOK_SECONDS:
                    pause = seconds_until_part_of_period(OUTLOOK)
                if outlook.has_due_timer and (
                    counts := await self._timing.call(timers.run_due_timers_and_triggers)
                ):
                    log.info("due_times", **counts)
            # The database is away: due times are kept in it, so that they come late and none is lost
            except (DatabaseError, InterfaceError) as error:
                pause = timers.AT_WORK_SECONDS
                log.warning("timers_wait", error=str(error).split("\n")[0])
            await asyncio.sleep(min(pause, BETWEEN_LOOKS_SECONDS))
            if (remaining := pause - BETWEEN_LOOKS_SECONDS) > 0:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._to_look.wait(), remaining)
