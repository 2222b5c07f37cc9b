"""Tokens at stations whose work takes no time, as many as go together in one transaction: what they wait for is the
database. They are taken, worked on and reported together, station after station, and without the event loop between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import structlog

from pipelines.work.config import WorkerConfig
from pipelines.work.spec.handler_io import Outcome
from pipelines.work.transport.protocol import ReportAnswer, Started, Transport
from pipelines.work.worker.execution import JobExecution
from pipelines.work.worker.running import Running, RunningWork

log = structlog.get_logger(__name__)
TOGETHER = 50
"""The largest batch of the engine."""
LOOK_SECONDS = 0.02
"""A few that go along do not ask the queue at each station whether more have come."""
DONE = ("accepted", "repeated")
REFUSED = ("ignored", "conflict", "not_found")

Apart = Callable[[Started], None]
"""Drives one job by itself: other work, or one with which something went wrong."""


class InstantWork:
    def __init__(
        self, config: WorkerConfig, transport: Transport, execution: JobExecution, running: Running
    ) -> None:
        self._config, self._transport = config, transport
        self._execution, self._running = execution, running
        self.stopping = False

    async def drive(self, token_id: int, drive_separately: Apart) -> None:
        """Drive from the ticket of one token, and for as long as more wait in the queue."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._config.most_seconds
        started_jobs = await self._transport.claim_instant(token_id, TOGETHER)
        stations: dict[int, int] = {}
        looked = loop.time()
        while started_jobs:
            may_go_on = loop.time() < until
            started_jobs = await self._run_one_station_each(
                started_jobs, stations, may_go_on, drive_separately
            )
            room = may_go_on and not self.stopping and len(started_jobs) < TOGETHER // 2
            if room and (not started_jobs or loop.time() - looked >= LOOK_SECONDS):
                looked = loop.time()
                started_jobs += await self._claim_more_jobs(started_jobs)

    async def _claim_more_jobs(self, started_jobs: list[Started]) -> list[Started]:
        """Others that wait in the queue. A stop meanwhile gives back what is held, which nothing else knows of."""
        try:
            return await self._transport.claim_instant(None, TOGETHER - len(started_jobs))
        except asyncio.CancelledError:
            await self._give_back(started_jobs)
            raise

    async def _run_one_station_each(
        self,
        started_jobs: Iterable[Started],
        stations: dict[int, int],
        may_go_on: bool,
        drive_separately: Apart,
    ) -> list[Started]:
        done: list[tuple[Started, Outcome, bool]] = []
        for started in started_jobs:
            outcome = self._outcome_or_none(started)
            if outcome is None:
                drive_separately(started)
                continue
            token = started.orders.token_id
            stations[token] = stations.get(token, 0) + 1
            others_wait = stations[token] >= self._config.most_stations or not may_go_on
            done.append((started, outcome, not others_wait and not self.stopping))
        answers = await self._report_together(done, drive_separately)
        for started, _, go_on in done:
            if not go_on:
                # Its turn is over: when another ticket brings the token back it is counted anew
                stations.pop(started.orders.token_id, None)
        return [answer.following for answer in answers if answer.following is not None]

    def _outcome_or_none(self, started: Started) -> Outcome | None:
        try:
            return self._execution.run_instant_job_or_none(started)
        except Exception:
            log.exception("instant_work_failed", job=started.orders.job_id)
            return None

    async def _report_together(
        self, outcomes_of_started: list[tuple[Started, Outcome, bool]], drive_separately: Apart
    ) -> list[ReportAnswer]:
        if not outcomes_of_started:
            return []
        works = [self._begin_reporting_work(started) for started, _, _ in outcomes_of_started]
        try:
            answers = await self._transport.report_together(outcomes_of_started)
        except asyncio.CancelledError:
            # A lost lease belongs to somebody else.
            await self._give_back(work.started for work in works if not work.lost)
            raise
        except Exception:
            # One by one, each meets its own error.
            log.exception("reports_failed_together", members=len(outcomes_of_started))
            answers = [ReportAnswer("error") for _ in outcomes_of_started]
        finally:
            for work in works:
                self._running.forget_work_if_current(work)
        for (started, _, _), answer in zip(outcomes_of_started, answers, strict=True):
            if answer.status in REFUSED:
                log.info("lease_lost", job=started.orders.job_id)
            elif answer.status not in DONE:
                drive_separately(started)
        return answers

    def _begin_reporting_work(self, started: Started) -> RunningWork:
        current = asyncio.current_task()
        assert current is not None
        work = self._running.begin_work(started, current)
        work.reporting = True
        return work

    async def _give_back(self, started_jobs: Iterable[Started]) -> None:
        for started in started_jobs:
            orders = started.orders
            await self._transport.give_back(orders.job_id, orders.attempt, started.lease)
