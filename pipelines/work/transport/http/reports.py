"""Reports of one runner on their way to its server: what is done at the same time goes in one call."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pipelines.work.transport.http import wire
from pipelines.work.transport.http.calls import ServerCalls
from pipelines.work.transport.protocol import ReportAnswer, Started
from pipelines.work.transport.together import Together

MOST_TOGETHER: Final = 50
"""The largest batch of the engine."""
LARGEST: Final = 256 * 1024
"""Bytes of an outcome that goes with others."""


@dataclass(frozen=True)
class Done:
    started: Started
    said: dict[str, Any]
    """{attempt, outcome, go_on}"""


class SentReports(Together[Done, ReportAnswer]):
    def __init__(self, calls: ServerCalls) -> None:
        super().__init__(MOST_TOGETHER)
        self._calls = calls

    async def send(self, started: Started, outcome: dict[str, Any], go_on: bool) -> ReportAnswer:
        """:raises CallRefused, ServerAway, BearerRefused: nothing moved"""
        done = Done(started, {"attempt": started.orders.attempt, "outcome": outcome, "go_on": go_on})
        if len(json.dumps(outcome)) > LARGEST:
            return await self._alone(done)
        return await self._answer(done)

    async def _sent(self, said: Sequence[Done]) -> Sequence[ReportAnswer | Exception]:
        if len(said) == 1:
            return [await self._alone(said[0])]
        found = await self._calls.insist("POST", "/reports", {"reports": [
            {"job": each.started.orders.job_id, "lease": str(each.started.lease), **each.said} for each in said
        ]})  # fmt: skip
        answers = [wire.answer_of(each) for each in found["answers"]]
        return [await self._settled(each, answer) for each, answer in zip(said, answers, strict=True)]

    async def _settled(self, done: Done, answer: ReportAnswer) -> ReportAnswer | Exception:
        if answer.status != "error":
            return answer
        try:
            return await self._alone(done)  # by itself it meets its own error, and comes again
        except Exception as error:  # noqa: BLE001  # it learns of it
            return error

    async def _alone(self, done: Done) -> ReportAnswer:
        started = done.started
        path = f"/jobs/{started.orders.job_id}/report"
        return wire.answer_of(await self._calls.insist("POST", path, done.said, lease=started.lease))
