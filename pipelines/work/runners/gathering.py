"""Calls of one project that are in this process at the same time are answered together: one look at their tokens and
jobs, one transaction of the engine (house §2). They wait on the event loop, so that none of them needs a thread.

Those who come while others are being answered go together as soon as these are done, and with them who comes within a
moment: who was just given work that takes no time. Nobody waits for other work, for another project, or long for their
own: who has waited for longer than that takes, as where a task that others report on is locked, goes beside them, with
all who wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import structlog

LANES: Final = 2
"""Bundles at once. The second is for those who wait behind a locked task."""
PATIENCE: Final = 0.25
"""Seconds behind others: many times what a transaction takes."""
MOMENT: Final = 0.002
"""Seconds for calls that are about to come: as long as a worker of the server's own waits (transport/local)."""

Call = TypeVar("Call")
Answer = TypeVar("Answer")
log = structlog.get_logger(__name__)


@dataclass(eq=False)
class _Waiting(Generic[Call, Answer]):
    call: Call
    answer: asyncio.Future[Answer | None]


class Gathering(Generic[Call, Answer]):
    """`send` answers several calls, each in its place; `size` of a call, of which `most` go together. Lives on one
    event loop."""

    def __init__(
        self,
        send: Callable[[Sequence[Call]], Awaitable[Sequence[Answer | None]]],
        size: Callable[[Call], int],
        most: int,
        *,
        lanes: int = LANES,
        patience: float = PATIENCE,
        moment: float = MOMENT,
    ) -> None:
        self._send, self._size, self._most = send, size, most
        self._most_lanes, self._patience, self._moment = lanes, patience, moment
        self._waiting: list[_Waiting[Call, Answer]] = []
        self._lanes: set[asyncio.Task[None]] = set()
        self._coming: set[int] = set()
        self._all_here = asyncio.Event()

    def expect(self, jobs: Collection[int]) -> None:
        """Calls about these are about to come: they were handed out just now, and take no time."""
        self._coming.update(jobs)

    async def answer(self, call: Call, jobs: Collection[int] = ()) -> Answer | None:
        """`jobs`: what the call is about. None: it is to be answered by itself, because what it went with failed, or
        because it has waited too long and every lane is taken."""
        loop = asyncio.get_running_loop()
        mine = _Waiting[Call, Answer](call, loop.create_future())
        self._waiting.append(mine)
        self._coming.difference_update(jobs)
        if not self._coming:
            self._all_here.set()
        if not self._lanes:
            self._open_lane()
        patience = loop.call_later(self._patience, self._lose_patience, mine)
        try:
            return await mine.answer
        except asyncio.CancelledError:
            with suppress(ValueError):
                self._waiting.remove(mine)
            raise
        finally:
            patience.cancel()

    def _lose_patience(self, mine: _Waiting[Call, Answer]) -> None:
        if mine not in self._waiting:
            return
        if len(self._lanes) < self._most_lanes:
            # With those who lose theirs in the same round of the loop.
            self._open_lane(self._taken())
        else:
            self._waiting.remove(mine)
            _tell(mine, None)

    def _open_lane(self, taken: Sequence[_Waiting[Call, Answer]] = ()) -> None:
        self._lanes.add(asyncio.get_running_loop().create_task(self._serve_who_waits(taken)))

    async def _serve_who_waits(self, taken: Sequence[_Waiting[Call, Answer]]) -> None:
        """First those who were taken already."""
        lane = asyncio.current_task()
        assert lane is not None
        try:
            if taken:
                await self._answer_together(taken)
            while self._waiting:
                await self._wait_a_moment()
                if taken := self._taken():
                    await self._answer_together(taken)
        finally:
            # Not when the task is done, which is later: who comes in between would wait for a lane that has ended.
            self._lanes.discard(lane)

    async def _wait_a_moment(self) -> None:
        if not self._coming:
            return
        self._all_here.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._moment):
                await self._all_here.wait()
        self._coming.clear()

    def _taken(self) -> list[_Waiting[Call, Answer]]:
        """Who has waited longest, and all who go along."""
        room, taken, left = self._most, list[_Waiting[Call, Answer]](), list[_Waiting[Call, Answer]]()
        for each in self._waiting:
            size = self._size(each.call)
            if taken and size > room:
                left.append(each)
            else:
                taken.append(each)
                room -= size
        self._waiting = left
        return taken

    async def _answer_together(self, taken: Sequence[_Waiting[Call, Answer]]) -> None:
        answers: Sequence[Answer | None] = [None] * len(taken)
        try:
            answers = await self._send([each.call for each in taken])
        except Exception as error:  # noqa: BLE001  # each is told its own when it is answered by itself
            log.warning(
                "gathered_calls_failed", calls=len(taken), error=f"{type(error).__name__}: {error}"[:200]
            )
        finally:
            for each, answer in zip(taken, answers, strict=True):
                _tell(each, answer)


def _tell(waiting: _Waiting[Call, Answer], answer: Answer | None) -> None:
    """Who has hung up is told nothing."""
    if not waiting.answer.done():
        waiting.answer.set_result(answer)
