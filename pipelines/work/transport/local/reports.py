"""Reports of one worker on their way to the engine: those that arrive together are sent in one transaction (house
§2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines import engine
from pipelines.engine import Report
from pipelines.engine.commands.report import LARGEST_BATCH
from pipelines.ports.leases import WorkOffer
from pipelines.routing.document.kinds import is_instant
from pipelines.work.transport.batching import CallBatcher
from pipelines.work.transport.local import jobs
from pipelines.work.transport.local.database import Database
from pipelines.work.transport.protocol import ReportAnswer, ReportFailed, Started


class Reports:
    def __init__(self, database: Database, by: str) -> None:
        self._database, self._by = database, by
        self._together = CallBatcher[Report, ReportAnswer](self._sent, LARGEST_BATCH)

    async def send(self, started: Started, outcome: dict[str, Any], offer: WorkOffer | None) -> ReportAnswer:
        """Report and wait for the answer. :raises ReportFailed: nothing moved"""
        report = self._report(started, outcome, offer)
        answer = await self._together.answer_in_batch(report, [started.orders.job_id])
        assert answer is not None  # it waits as long as it takes
        return answer

    async def send_together(
        self, outcomes_of_started: Sequence[tuple[Started, dict[str, Any], bool]], offer: WorkOffer
    ) -> list[ReportAnswer]:
        """Send reports that came together in one batch, which waits for no other. A report for which nothing
        moved answers `error`."""
        sent = [
            self._report(started, outcome, offer if on else None)
            for started, outcome, on in outcomes_of_started
        ]
        return await self._database.call_until_connected(deliver_reports, sent)

    def _report(self, started: Started, outcome: dict[str, Any], offer: WorkOffer | None) -> Report:
        attempt_key = (started.orders.job_id, started.orders.attempt, started.lease)
        return Report(*attempt_key, outcome, by=self._by, offer_for_next=offer, observed_by=self._by)

    async def _sent(self, reports: Sequence[Report]) -> list[ReportAnswer | Exception]:
        # It may be repeated: the fence answers an identical report as it did the first time (law §5)
        answers = await self._database.call_until_connected(deliver_reports, list(reports))
        following = (answer.following.orders for answer in answers if answer.following)
        # Their reports come in a moment, and go with the next bundle
        self._together.expect_calls_about([orders.job_id for orders in following if is_instant(orders.kind)])
        return [ReportFailed(answer.detail) if answer.status == "error" else answer for answer in answers]


def deliver_reports(reports: list[Report]) -> list[ReportAnswer]:
    results = engine.report(reports)
    following = jobs.jobs_started_by_reports(results)
    return [
        ReportAnswer(
            result.status, result.decision, result.path, result.detail, following.get(result.next_job_id or 0)
        )
        for result in results
    ]
