"""Claims and reports of one runner on their way to its server: what is asked at the same time goes in one call."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from pipelines.work.transport.http import wire
from pipelines.work.transport.http.calls import BearerRefused, CallRefused, ServerCalls
from pipelines.work.transport.protocol import LeaseLost, NotStored, ReportAnswer, ServerAway, Started
from pipelines.work.transport.together import Together

Said = TypeVar("Said")
Answer = TypeVar("Answer")
MOST_TOGETHER: Final = 50
"""The largest batch of the engine."""
LARGEST: Final = 256 * 1024
"""Bytes of an outcome that goes with others."""
FAILED: Final = (BearerRefused, CallRefused, LeaseLost, NotStored, ServerAway)


class CallsTogether(ABC, Generic[Said, Answer]):
    """One that is alone has a call of its own, and so has each of those that failed together: by itself each meets its
    own error, and comes again."""

    def __init__(self, calls: ServerCalls) -> None:
        self._calls = calls
        self._bundles = Together[Said, Answer](self._sent, MOST_TOGETHER)

    async def _answer(self, said: Said) -> Answer:
        answer = await self._bundles.answer(said)
        assert answer is not None  # it waits as long as it takes
        return answer

    @abstractmethod
    async def _alone(self, said: Said) -> Answer:
        """:raises CallRefused, ServerAway, BearerRefused"""

    @abstractmethod
    async def _together(self, said: Sequence[Said]) -> Sequence[Answer | None]:
        """None where one has to come by itself. :raises FAILED: all have to"""

    async def _sent(self, said: Sequence[Said]) -> Sequence[Answer | Exception]:
        answers: Sequence[Answer | None] = [None] * len(said)
        if len(said) > 1:
            with suppress(*FAILED):
                answers = await self._together(said)
        return await asyncio.gather(
            *(self._settled(each, answer) for each, answer in zip(said, answers, strict=True))
        )

    async def _settled(self, said: Said, answer: Answer | None) -> Answer | Exception:
        if answer is not None:
            return answer
        try:
            return await self._alone(said)
        except FAILED as error:
            return error


class SentClaims(CallsTogether[int, "Claimed"]):
    async def take(self, job_id: int) -> Started | None:
        return (await self._answer(job_id)).started

    async def _alone(self, said: int) -> Claimed:
        return _claimed((await self._calls.insist("POST", f"/jobs/{said}/claim"))["started"])

    async def _together(self, said: Sequence[int]) -> list[Claimed]:
        found = await self._calls.ask_once("POST", "/claims", {"jobs": list(said)})
        return [_claimed(each) for each in found["started"]]


@dataclass(frozen=True)
class Claimed:
    started: Started | None


def _claimed(plain: Any) -> Claimed:
    return Claimed(wire.started_of(plain) if plain else None)


class SentReports(CallsTogether["Done", ReportAnswer]):
    async def send(self, started: Started, outcome: dict[str, Any], go_on: bool) -> ReportAnswer:
        """:raises CallRefused, ServerAway, BearerRefused: nothing moved"""
        done = Done(started, {"attempt": started.orders.attempt, "outcome": outcome, "go_on": go_on})
        if len(json.dumps(outcome)) > LARGEST:
            return await self._alone(done)
        return await self._answer(done)

    async def _alone(self, said: Done) -> ReportAnswer:
        path = f"/jobs/{said.started.orders.job_id}/report"
        return wire.answer_of(await self._calls.insist("POST", path, said.document, lease=said.started.lease))

    async def _together(self, said: Sequence[Done]) -> list[ReportAnswer | None]:
        reports = [
            {"job": each.started.orders.job_id, "lease": str(each.started.lease), **each.document}
            for each in said
        ]
        found = (await self._calls.ask_once("POST", "/reports", {"reports": reports}))["answers"]
        return [None if each["status"] == "error" else wire.answer_of(each) for each in found]


@dataclass(frozen=True)
class Done:
    """`document`: {attempt, outcome, go_on}."""

    started: Started
    document: dict[str, Any]
