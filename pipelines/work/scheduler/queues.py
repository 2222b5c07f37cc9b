"""The queue worker of one process. Each kind of ticket has its own seats, so that slow commands never starve questions,
mail, hosts, channels or timers (house §2). It is started again whenever it ends, as when the server restarts."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError
from procrastinate import App, exceptions
from procrastinate.contrib.django import app as django_app
from procrastinate.contrib.django.utils import connector_params
from procrastinate.job_context import AbortReason, JobContext
from procrastinate.jobs import DeleteJobCondition
from procrastinate.jobs import Job as ProcrastinateJob
from procrastinate.psycopg_connector import PsycopgConnector
from procrastinate.worker import Worker
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict

from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.ports.idle_pauses import LOOK_AROUND, seconds_until_part_of_period
from pipelines.ports.terms import DRIVE, EVALUATE, EVALUATIONS, QUICK, TRIALS
from pipelines.work.statements import HEARTBEAT
from pipelines.work.transport.local.database import Database

log = structlog.get_logger(__name__)
NOTICES = "procrastinate_any_queue_v1"
"""What the server says, to who listens, when a ticket is written."""
POLL_SECONDS = 300.0
"""Nobody waits for it: notices tell of new tickets, `timers` of those whose time has come or whose notice was lost."""
BEAT_SECONDS = 5.0
"""Between two signs of life with a ticket in hand: less than `STALLED_SECONDS`."""
# Without a heartbeat for this long a worker's tickets go to others; much later it has to register again.
STALLED_SECONDS = 15.0
FORGOTTEN_SECONDS = 180.0
GRACE_SECONDS = 10.0
ENDED_AT_ONCE = frozenset((DRIVE, QUICK, EVALUATE, TRIALS, EVALUATIONS))
POOL = 4


@asynccontextmanager
async def open_app() -> AsyncIterator[App]:
    """The queue with connections of its own, straight to the server: LISTEN cannot go through a pooler."""
    direct = settings.DATABASE_DIRECT_URL
    parameters = conninfo_to_dict(direct) if direct else connector_params()
    connector = PsycopgConnector(
        kwargs=parameters, configure=_use_autocommit, min_size=1, max_size=POOL, timeout=10
    )
    with django_app.replace_connector(connector) as app:
        async with app.open_async():
            yield app


async def _use_autocommit(connection: AsyncConnection) -> None:
    """Do without BEGIN and COMMIT: each call is one statement."""
    await connection.set_autocommit(True)


class TicketWorker(Worker):
    """Takes the tickets of several queues by one statement, each within its own number of seats.

    :param seats: {queue: how many at once}
    :param database: where it says that it lives"""

    def __init__(
        self, app: App, seats: Mapping[str, int], context: Mapping[str, Any], database: Database
    ) -> None:
        super().__init__(
            app,
            queues=list(seats),
            fetch_job_polling_interval=POLL_SECONDS,
            stalled_worker_timeout=FORGOTTEN_SECONDS,
            shutdown_graceful_timeout=GRACE_SECONDS,
            delete_jobs=DeleteJobCondition.SUCCESSFUL,
            # The process has its own, which stop the queue in their order
            install_signal_handlers=False,
            additional_context=dict(context),
        )
        self._seats, self._database = seats, database
        self._first_ticket = asyncio.Event()

    def look_for_tickets(self) -> None:
        """There may be a ticket."""
        self._new_job_event.set()

    def _start_side_tasks(self) -> list[asyncio.Task[Any]]:
        # Not procrastinate's own listener: the scheduler listens
        return [asyncio.create_task(self._update_heartbeat(), name="heartbeat")]

    async def _update_heartbeat(self) -> None:
        while True:
            await self._until_next_beat()
            if self.worker_id is not None:
                # Not by the queue's own connections, which cost an idle process four times as much. The next one may
                # come through.
                with suppress(DatabaseError, InterfaceError):
                    await self._database.call_until_connected(fetch, HEARTBEAT, [self.worker_id])

    async def _until_next_beat(self) -> None:
        """A ticket ends a rest at once: it would look like one of a dead worker."""
        if self._running_jobs:
            await asyncio.sleep(BEAT_SECONDS)
            return
        self._first_ticket.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._first_ticket.wait(), seconds_until_part_of_period(LOOK_AROUND))

    async def _fetch_and_process_jobs(self) -> None:
        assert self.worker_id is not None
        while not self._stop_event.is_set():
            # Before the statement and not after it: of what comes meanwhile nobody would be told again.
            self._new_job_event.clear()
            if not (free := self._queues_with_free_seats()):
                return
            job = await self.app.job_manager.fetch_job(queues=free, worker_id=self.worker_id)
            if job is None:
                return
            self._first_ticket.set()
            self._begin_ticket(job)

    def _queues_with_free_seats(self) -> list[str]:
        occupied = Counter(context.job.queue for context in self._running_jobs.values())
        return [queue for queue, seats in self._seats.items() if occupied[queue] < seats]

    def _begin_ticket(self, job: ProcrastinateJob) -> None:
        context = JobContext(
            app=self.app,
            worker_name=self.worker_name,
            worker_queues=self.queues,
            additional_context=dict(self.additional_context or {}),
            job=job,
            abort_reason=lambda: self._job_ids_to_abort.get(job.id) if job.id else None,
            start_timestamp=time.time(),
        )
        work = asyncio.create_task(self._process_job(context), name=f"{job.task_name}[{job.id}]")
        self._running_jobs[work] = context
        work.add_done_callback(self._end_ticket)

    def _end_ticket(self, work: asyncio.Task[Any]) -> None:
        queue = self._running_jobs[work].job.queue
        # All seats were taken: a ticket may have waited for this one
        if queue not in self._queues_with_free_seats():
            self.look_for_tickets()
        del self._running_jobs[work]

    async def _shutdown(self, side_tasks: list[asyncio.Task[Any]]) -> None:
        # A drive goes on without its ticket; mail under way gets a moment.
        for work, context in self._running_jobs.items():
            if context.job.queue in ENDED_AT_ONCE:
                self._abort_job(work, context, AbortReason.SHUTDOWN)
        await super()._shutdown(side_tasks)


class Queue:
    """`seats` {queue: how many at once}. `database`: where its worker says that it lives."""

    def __init__(
        self, app: App, seats: Mapping[str, int], context: Mapping[str, Any], database: Database
    ) -> None:
        self._app, self._seats, self._context, self._database = app, seats, context, database
        self._worker: TicketWorker | None = None
        self._stopping = False

    async def run(self) -> None:
        """Take tickets until `stop`, whatever happens to the server."""
        while not self._stopping:
            self._worker = TicketWorker(self._app, self._seats, self._context, self._database)
            try:
                await self._worker.run()
            except exceptions.ConnectorException as error:
                log.warning("queue_ended", error=str(error.__cause__ or error).split("\n")[0])
            if not self._stopping:
                await asyncio.sleep(0.5)

    def look_for_tickets(self) -> None:
        """There may be a ticket: one has been written, or the time of one has come."""
        if self._worker is not None:
            self._worker.look_for_tickets()

    def stop(self) -> None:
        """Take no ticket any more; those under way go on."""
        self._stopping = True
        if self._worker is not None:
            self._worker.stop()

    async def requeue_tickets_of_dead_workers(self) -> int:
        """Give the tickets of dead workers to the living. Without a lock: a janitor that dies must not stall all."""
        stalled = await self._app.job_manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_SECONDS)
        retried = 0
        for job in stalled:
            try:
                await self._app.job_manager.retry_job(job)
            except exceptions.ConnectorException:
                continue  # Another janitor was first.
            retried += 1
        return retried
