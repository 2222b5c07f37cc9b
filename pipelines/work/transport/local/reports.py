"""Reports of one worker on their way to the engine: those that arrive together are sent in one transaction (house
§2)."""

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
from pipelines.work.transport.together import Together

# So long a transaction waits for reports that are about to come.
GATHER_SECONDS = 0.002


class Reports(Together[Report, ReportAnswer]):
    def __init__(self, database: Database, by: str) -> None:
        super().__init__(LARGEST_BATCH)
        self._database, self._by = database, by
        # Jobs that were handed out just now and take no time.
        self._coming: set[int] = set()
        self._all_here = asyncio.Event()

    async def send(self, started: Started, outcome: dict[str, Any], claim: Claim | None) -> ReportAnswer:
        """Report and wait for the answer. :raises ReportFailed: nothing moved"""
        self._coming.discard(started.orders.job_id)
        if not self._coming or len(self._waiting) + 1 >= LARGEST_BATCH:
            self._all_here.set()
        return await self._answer(self._report(started, outcome, claim))

    async def send_together(
        self, done: Sequence[tuple[Started, dict[str, Any], bool]], claim: Claim
    ) -> list[ReportAnswer]:
        """What came together goes together, and waits for no other. One of which nothing moved answers `error`."""
        sent = [self._report(started, outcome, claim if on else None) for started, outcome, on in done]
        return await self._database.insist(deliver, sent)

    def _report(self, started: Started, outcome: dict[str, Any], claim: Claim | None) -> Report:
        fence = (started.orders.job_id, started.orders.attempt, started.lease)
        return Report(*fence, outcome, by=self._by, claim_next=claim, observed_by=self._by)

    async def _sent(self, said: Sequence[Report]) -> list[ReportAnswer | Exception]:
        answers = await self._database.insist(deliver, list(said))
        for each in answers:
            if (following := each.following) and instant(following.orders.kind):
                self._coming.add(following.orders.job_id)
        return [ReportFailed(each.detail) if each.status == "error" else each for each in answers]

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
