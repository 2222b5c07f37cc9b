"""The queue workers of one process. Each kind of ticket has its own concurrency, so that slow commands never starve
questions, mail, hosts, channels or timers (house §2). They are restarted whenever they end, for example when the server
restarts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import structlog
from django.conf import settings
from procrastinate import App, exceptions
from procrastinate.contrib.django import app as django_app
from procrastinate.contrib.django.utils import connector_params
from procrastinate.jobs import DeleteJobCondition
from procrastinate.psycopg_connector import PsycopgConnector
from procrastinate.worker import Worker
from psycopg.conninfo import conninfo_to_dict

from pipelines.ports.terms import DRIVE, EVALUATE, QUICK, TRIALS

log = structlog.get_logger(__name__)
POLL_SECONDS = 0.5
BEAT_SECONDS = 1.0
# Without a heartbeat for this long a worker's tickets go to others; much later it has to register again.
STALLED_SECONDS = 6.0
FORGOTTEN_SECONDS = 60.0
POOL = 4


@asynccontextmanager
async def open_app() -> AsyncIterator[App]:
    """The queue with connections of its own, straight to the server: LISTEN cannot go through a pooler."""
    direct = settings.DATABASE_DIRECT_URL
    parameters = conninfo_to_dict(direct) if direct else connector_params()
    connector = PsycopgConnector(kwargs=parameters, min_size=1, max_size=POOL, timeout=10)
    with django_app.replace_connector(connector) as app:
        async with app.open_async():
            yield app


class Queue:
    """`concurrency` {queue: how many at once}."""

    def __init__(self, app: App, concurrency: Mapping[str, int], context: Mapping[str, Any]) -> None:
        self._app, self._concurrency, self._context = app, concurrency, dict(context)
        self._workers: dict[str, Worker] = {}
        self._stopping = False

    async def run(self) -> None:
        """Until `stop`, whatever happens to the server."""
        async with asyncio.TaskGroup() as group:
            for name, concurrency in self._concurrency.items():
                group.create_task(self._forever(name, concurrency))

    def stop(self) -> None:
        """Take no ticket any more; those under way go on."""
        self._stopping = True
        for worker in self._workers.values():
            worker.stop()

    async def _forever(self, name: str, concurrency: int) -> None:
        while not self._stopping:
            worker = self._workers[name] = self._worker(name, concurrency)
            try:
                await worker.run()
            except exceptions.ConnectorException as error:
                log.warning("queue_ended", queue=name, error=str(error.__cause__ or error).split("\n")[0])
            if not self._stopping:
                await asyncio.sleep(0.5)

    def _worker(self, name: str, concurrency: int) -> Worker:
        return self._app._worker(
            queues=[name],
            name=name,
            concurrency=concurrency,
            fetch_job_polling_interval=POLL_SECONDS,
            update_heartbeat_interval=BEAT_SECONDS,
            stalled_worker_timeout=FORGOTTEN_SECONDS,
            # A drive goes on without its ticket; mail under way gets a moment.
            shutdown_graceful_timeout=0.0 if name in (DRIVE, QUICK, EVALUATE, TRIALS) else 10.0,
            delete_jobs=DeleteJobCondition.SUCCESSFUL,
            install_signal_handlers=False,
            additional_context=self._context,
        )

    async def retry_stalled(self) -> int:
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
