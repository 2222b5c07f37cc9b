"""Claims and reports of one runner on their way to its server: what is asked at the same time goes in one call."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from pipelines.work.transport.batching import CallBatcher
from pipelines.work.transport.http import wire_format
from pipelines.work.transport.http.calls import BearerRefused, CallRefused, ServerCalls
from pipelines.work.transport.protocol import LeaseLost, NotStored, ReportAnswer, ServerAway, Started

Call = TypeVar("Call")
Answer = TypeVar("Answer")
MOST_TOGETHER: Final = 50
"""The largest batch of the engine."""
LARGEST: Final = 256 * 1024
"""Bytes of an outcome that goes with others."""
FAILED: Final = (BearerRefused, CallRefused, LeaseLost, NotStored, ServerAway)


class BatchedCalls(ABC, Generic[Call, Answer]):
    """Calls of one kind that are sent in one batch. A single call is sent alone, and so is each call of a batch
    that failed: it meets its own error and is repeated."""

    def __init__(self, calls: ServerCalls) -> None:
        self._calls = calls
        self._bundles = CallBatcher[Call, Answer](self._sent, MOST_TOGETHER)

    async def _answer(self, call: Call) -> Answer:
        answer = await self._bundles.answer(call)
        assert answer is not None  # it waits as long as it takes
        return answer

    @abstractmethod
    async def _alone(self, call: Call) -> Answer:
        """:raises CallRefused, ServerAway, BearerRefused"""

    @abstractmethod
    async def _together(self, calls: Sequence[Call]) -> Sequence[Answer | None]:
        """None where one has to come by itself. :raises FAILED: all have to"""

    async def _sent(self, calls: Sequence[Call]) -> Sequence[Answer | Exception]:
        answers: Sequence[Answer | None] = [None] * len(calls)
        if len(calls) > 1:
            with suppress(*FAILED):
                answers = await self._together(calls)
        return await asyncio.gather(
            *(self._settled(call, answer) for call, answer in zip(calls, answers, strict=True))
        )

    async def _settled(self, call: Call, answer: Answer | None) -> Answer | Exception:
        if answer is not None:
            return answer
        try:
            return await self._alone(call)
        except FAILED as error:
            return error


class SentClaims(BatchedCalls[int, "Claimed"]):
    async def take(self, job_id: int) -> Started | None:
        return (await self._answer(job_id)).started

    async def _alone(self, call: int) -> Claimed:
        return _claimed((await self._calls.insist("POST", f"/jobs/{call}/claim"))["started"])

    async def _together(self, calls: Sequence[int]) -> list[Claimed]:
        response = await self._calls.ask_once("POST", "/claims", {"jobs": list(calls)})
        return [_claimed(entry) for entry in response["started"]]


@dataclass(frozen=True)
class Claimed:
    # Wrapped: None as an answer would mean that the call has to come by itself
    started: Started | None


def _claimed(plain: Any) -> Claimed:
    return Claimed(wire_format.started_of(plain) if plain else None)


class SentReports(BatchedCalls["FinishedJob", ReportAnswer]):
    async def send(self, started: Started, outcome: dict[str, Any], go_on: bool) -> ReportAnswer:
        """:raises CallRefused, ServerAway, BearerRefused: nothing moved"""
        done = FinishedJob(started, {"attempt": started.orders.attempt, "outcome": outcome, "go_on": go_on})
        # A large one would hold up those that go with it, until all of it is sent and read
        if len(json.dumps(outcome)) > LARGEST:
            return await self._alone(done)
        return await self._answer(done)

    async def _alone(self, call: FinishedJob) -> ReportAnswer:
        path = f"/jobs/{call.started.orders.job_id}/report"
        return wire_format.answer_of(
            await self._calls.insist("POST", path, call.document, lease=call.started.lease)
        )

    async def _together(self, calls: Sequence[FinishedJob]) -> list[ReportAnswer | None]:
        reports = [
            {"job": call.started.orders.job_id, "lease": str(call.started.lease), **call.document}
            for call in calls
        ]
        answers = (await self._calls.ask_once("POST", "/reports", {"reports": reports}))["answers"]
        return [None if answer["status"] == "error" else wire_format.answer_of(answer) for answer in answers]


@dataclass(frozen=True)
class FinishedJob:
    """`document`: {attempt, outcome, go_on}."""

    started: Started
    document: dict[str, Any]
