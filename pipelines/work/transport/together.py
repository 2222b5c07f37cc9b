"""Calls that go together: one that comes alone goes at once; while some are under way, the next ones collect."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final, Generic, TypeVar

Said = TypeVar("Said")
Answer = TypeVar("Answer")

AT_ONCE: Final = 2
"""Under way: the second is for what gathers while the first waits for a lock."""


class Together(ABC, Generic[Said, Answer]):
    """`most` in one call."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: list[tuple[Said, asyncio.Future[Answer]]] = []
        self._flying: set[asyncio.Task[None]] = set()

    @abstractmethod
    async def _sent(self, said: Sequence[Said]) -> Sequence[Answer | Exception]:
        """One answer each, in their order."""

    async def _gather(self) -> None:
        """Wait for what is about to come."""

    async def _answer(self, said: Said) -> Answer:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((said, future))
        if len(self._flying) < AT_ONCE:
            task = asyncio.create_task(self._fly())
            self._flying.add(task)
            task.add_done_callback(self._flying.discard)
        return await future

    async def _fly(self) -> None:
        while self._waiting:
            await self._gather()
            batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
            try:
                answers = await self._sent([said for said, _ in batch])
            except Exception as error:  # noqa: BLE001  # each of those who wait learns of it
                answers = [error] * len(batch)
            for (_, future), answer in zip(batch, answers, strict=True):
                if future.done():
                    continue  # cancelled meanwhile
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)
