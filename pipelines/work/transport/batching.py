"""Batching of calls that come at the same time, from a worker, a runner or in a web process. A call that comes
alone is sent at once. Calls that come while others are sent go in the next batch, with those that follow
within MOMENT. Waiting takes no thread."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

LANES: Final = 2
"""Bundles under way at once. The second is for those who gather while the first waits for a lock."""
MOMENT: Final = 0.002
"""Seconds for calls that are about to come."""

Call = TypeVar("Call")
Answer = TypeVar("Answer")


# Told apart by identity: two callers may ask the same
@dataclass(eq=False)
class _Waiting(Generic[Call, Answer]):
    call: Call
    answer: asyncio.Future[Answer | None]


class CallBatcher(Generic[Call, Answer]):
    """Batcher of calls on one event loop. `send` answers a batch, each call in its place with an answer or an
    exception. `size` of a call, of which `most` go in one batch. `patience`: seconds in the queue after
    which a further lane is opened; 0: at once."""

    def __init__(
        self,
        send: Callable[[Sequence[Call]], Awaitable[Sequence[Answer | Exception | None]]],
        most: int,
        *,
        size: Callable[[Call], int] = lambda call: 1,
        lanes: int = LANES,
        patience: float = 0,
        moment: float = MOMENT,
    ) -> None:
        self._send, self._size, self._most = send, size, most
        self._most_lanes, self._patience, self._moment = lanes, patience, moment
        self._waiting: list[_Waiting[Call, Answer]] = []
        self._lanes: set[asyncio.Task[None]] = set()
        self._coming: set[int] = set()
        self._all_here = asyncio.Event()

    def expect_calls_about(self, jobs: Collection[int]) -> None:
        """Calls about these are about to come: they were handed out just now, and take no time."""
        self._coming.update(jobs)

    async def answer_in_batch(self, call: Call, jobs: Collection[int] = ()) -> Answer | None:
        """`jobs`: what the call is about. None: it is to be answered by itself, because `send` says so, or because its
        patience is at an end and every lane is taken."""
        loop = asyncio.get_running_loop()
        own = _Waiting[Call, Answer](call, loop.create_future())
        self._waiting.append(own)
        self._coming.difference_update(jobs)
        if not self._coming or self._is_full():
            self._all_here.set()
        if len(self._lanes) < (1 if self._patience else self._most_lanes):
            self._open_lane()
        patience = (
            loop.call_later(self._patience, self._send_without_waiting_longer, own)
            if self._patience
            else None
        )
        try:
            return await own.answer
        except asyncio.CancelledError:
            with suppress(ValueError):
                self._waiting.remove(own)
            raise
        finally:
            if patience is not None:
                patience.cancel()

    def _is_full(self) -> bool:
        return sum(self._size(waiter.call) for waiter in self._waiting) >= self._most

    def _send_without_waiting_longer(self, own: _Waiting[Call, Answer]) -> None:
        if own not in self._waiting:
            return
        if len(self._lanes) < self._most_lanes:
            # With those who lose theirs in the same round of the loop.
            self._open_lane(self._take_batch())
        else:
            self._waiting.remove(own)
            _pass_answer(own, None)

    def _open_lane(self, waiters: Sequence[_Waiting[Call, Answer]] = ()) -> None:
        self._lanes.add(asyncio.get_running_loop().create_task(self._serve_who_waits(waiters)))

    async def _serve_who_waits(self, waiters: Sequence[_Waiting[Call, Answer]]) -> None:
        """First those who were taken already."""
        lane = asyncio.current_task()
        assert lane is not None
        try:
            if waiters:
                await self._answer_together(waiters)
            while self._waiting:
                await self._wait_for_announced_calls()
                if waiters := self._take_batch():
                    await self._answer_together(waiters)
        finally:
            # Not when the task is done, which is later: who comes in between would wait for a lane that has ended.
            self._lanes.discard(lane)

    async def _wait_for_announced_calls(self) -> None:
        if not self._coming or self._is_full():
            return
        self._all_here.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._moment):
                await self._all_here.wait()
        self._coming.clear()

    def _take_batch(self) -> list[_Waiting[Call, Answer]]:
        """Take from the queue the caller that has waited longest, and all that go along."""
        room, waiters, left = self._most, list[_Waiting[Call, Answer]](), list[_Waiting[Call, Answer]]()
        for waiter in self._waiting:
            size = self._size(waiter.call)
            # The first always goes, however large: it would else wait for ever
            if waiters and size > room:
                left.append(waiter)
            else:
                waiters.append(waiter)
                room -= size
        self._waiting = left
        return waiters

    async def _answer_together(self, waiters: Sequence[_Waiting[Call, Answer]]) -> None:
        # What a cancelled lane leaves to its callers: each comes by itself
        answers: Sequence[Answer | Exception | None] = [None] * len(waiters)
        try:
            answers = await self._send([waiter.call for waiter in waiters])
        except Exception as error:  # noqa: BLE001  # each of those who wait learns of it
            answers = [error] * len(waiters)
        finally:
            for waiter, answer in zip(waiters, answers, strict=True):
                _pass_answer(waiter, answer)


def _pass_answer(waiting: _Waiting[Call, Answer], answer: Answer | Exception | None) -> None:
    """Pass the answer to a waiting caller; one that has hung up gets nothing."""
    if waiting.answer.done():
        return
    if isinstance(answer, Exception):
        waiting.answer.set_exception(answer)
    else:
        waiting.answer.set_result(answer)
