"""Reports of one worker on their way to the engine: those that arrive together are sent in one transaction (house
§2). A report that arrives alone is sent at once; while some are being sent, the next ones collect."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from pipelines import engine
from pipelines.engine import Report
from pipelines.engine.commands.report import LARGEST_BATCH
from pipelines.ports.leases import Claim
from pipelines.routing.document.kinds import instant
from pipelines.work.transport.local import jobs
from pipelines.work.transport.local.database import Database
from pipelines.work.transport.protocol import ReportAnswer, ReportFailed, Started

# Transactions at once: the second one is for what gathers while the first one waits for a lock.
AT_ONCE = 2
# So long a transaction waits for reports that are about to come.
GATHER_SECONDS = 0.002


class Reports:
    def __init__(self, database: Database, by: str) -> None:
        self._database, self._by = database, by
        self._waiting: list[tuple[Report, asyncio.Future[ReportAnswer]]] = []
        self._flying: set[asyncio.Task[None]] = set()
        # Jobs that were handed out just now and take no time.
        self._coming: set[int] = set()
        self._all_here = asyncio.Event()

    async def send(self, started: Started, outcome: dict[str, Any], claim: Claim | None) -> ReportAnswer:
        """Report and wait for the answer. :raises ReportFailed: nothing moved"""
        orders = started.orders
        future: asyncio.Future[ReportAnswer] = asyncio.get_running_loop().create_future()
        self._waiting.append((self._report(started, outcome, claim), future))
        self._coming.discard(orders.job_id)
        if not self._coming or len(self._waiting) >= LARGEST_BATCH:
            self._all_here.set()
        if len(self._flying) < AT_ONCE:
            task = asyncio.create_task(self._fly())
            self._flying.add(task)
            task.add_done_callback(self._flying.discard)
        return await future

    async def send_together(
        self, done: Sequence[tuple[Started, dict[str, Any], bool]], claim: Claim
    ) -> list[ReportAnswer]:
        """What came together goes together, and waits for no other. One of which nothing moved answers `error`."""
        sent = [self._report(started, outcome, claim if on else None) for started, outcome, on in done]
        return await self._database.insist(deliver, sent)

    def _report(self, started: Started, outcome: dict[str, Any], claim: Claim | None) -> Report:
        fence = (started.orders.job_id, started.orders.attempt, started.lease)
        return Report(*fence, outcome, by=self._by, claim_next=claim, observed_by=self._by)

    async def _fly(self) -> None:
        while self._waiting:
            await self._gather()
            batch, self._waiting = self._waiting[:LARGEST_BATCH], self._waiting[LARGEST_BATCH:]
            try:
                answers = await self._database.insist(deliver, [report for report, _ in batch])
            except Exception as error:  # noqa: BLE001  # each of those who wait learns of it
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                continue
            for (_, future), answer in zip(batch, answers, strict=True):
                if future.done():
                    continue  # cancelled meanwhile
                if answer.status == "error":
                    future.set_exception(ReportFailed(answer.detail))
                else:
                    future.set_result(answer)
                    if (following := answer.following) and instant(following.orders.kind):
                        self._coming.add(following.orders.job_id)

    async def _gather(self) -> None:
        """Those that come within a moment go along; nobody waits for work that takes time."""
        if not self._coming or len(self._waiting) >= LARGEST_BATCH:
            return
        self._all_here.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(GATHER_SECONDS):
                await self._all_here.wait()
        self._coming.clear()


def deliver(reports: list[Report]) -> list[ReportAnswer]:
    results = engine.report(reports)
    following = jobs.resume(results)
    return [
        ReportAnswer(each.status, each.decision, each.path, each.detail, following.get(each.next_job_id or 0))
        for each in results
    ]
