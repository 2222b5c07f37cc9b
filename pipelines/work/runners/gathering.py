"""Calls of one project that are in this process at the same time are answered together: one look at their tokens and
jobs, one transaction of the engine (house §2).

Nobody waits for who may come: those who come while others are being answered go together as soon as these are done.
Nobody waits for another project, or long for their own: who has waited for longer than that takes, as where a task that
others report on is locked, goes beside them, with all who wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

import structlog

LANES: Final = 2
"""Bundles at once. The second is for those who wait behind a locked task; who finds both taken goes alone."""
PATIENCE: Final = 0.25
"""Seconds behind others: many times what a transaction takes."""

Call = TypeVar("Call")
Answer = TypeVar("Answer")
log = structlog.get_logger(__name__)


class _Brought(Generic[Call, Answer]):
    """What one call brings. `leads`: a lane is its own; `is_taken`: somebody sends it along, and tells it when that is
    over. `answers`: none where that failed."""

    def __init__(self, said: Call) -> None:
        self.said = said
        self.leads = self.is_taken = False
        self.told = threading.Event()
        self.answers: list[Answer] = []


class Gathering(Generic[Call, Answer]):
    """`send` answers several calls, each in its place; `size` of a call, of which `most` go together."""

    def __init__(
        self,
        send: Callable[[Sequence[Call]], Sequence[Answer]],
        size: Callable[[Call], int],
        most: int,
        *,
        lanes: int = LANES,
        patience: float = PATIENCE,
    ) -> None:
        self._send, self._size, self._most = send, size, most
        self._lanes, self._patience = lanes, patience
        self._lock, self._busy = threading.Lock(), 0
        self._waiting: list[_Brought[Call, Answer]] = []

    def answer(self, said: Call) -> Answer:
        """:raises: what `send` raises for this call alone"""
        mine = _Brought[Call, Answer](said)
        if self._comes_first(mine) or self._leads_after_waiting(mine):
            self._lead(mine)
        elif mine.is_taken:
            mine.told.wait()
        if mine.answers:
            return mine.answers[0]
        (answer,) = self._send([said])
        return answer

    def _comes_first(self, mine: _Brought[Call, Answer]) -> bool:
        with self._lock:
            self._waiting.append(mine)
            mine.leads = not self._busy
            self._busy += mine.leads
            return mine.leads

    def _leads_after_waiting(self, mine: _Brought[Call, Answer]) -> bool:
        """Whether those before gave it their lane, or it lost its patience and found one."""
        mine.told.wait(self._patience)
        with self._lock:
            if not mine.leads and not mine.is_taken:
                if self._busy < self._lanes:
                    mine.leads, self._busy = True, self._busy + 1
                else:
                    self._waiting.remove(mine)
            return mine.leads

    def _lead(self, mine: _Brought[Call, Answer]) -> None:
        """Who goes along with one whose call fails is told nothing, and goes by itself: as this one then does."""
        taken = self._taken_with(mine)
        try:
            if len(taken) > 1:
                for each, answer in zip(taken, self._send([each.said for each in taken]), strict=True):
                    each.answers = [answer]
            else:
                mine.answers = [*self._send([mine.said])]
        except Exception as error:
            if len(taken) == 1:
                raise
            log.warning(
                "gathered_calls_failed", calls=len(taken), error=f"{type(error).__name__}: {error}"[:200]
            )
        finally:
            self._pass_on()
            for each in taken:
                each.told.set()

    def _taken_with(self, mine: _Brought[Call, Answer]) -> list[_Brought[Call, Answer]]:
        with self._lock:
            room, taken = self._most - self._size(mine.said), [mine]
            for each in self._waiting:
                if not each.leads and (size := self._size(each.said)) <= room:
                    taken.append(each)
                    room -= size
            for each in taken:
                each.is_taken = True
                self._waiting.remove(each)
            return taken

    def _pass_on(self) -> None:
        """The lane, to who has waited longest."""
        with self._lock:
            following = next((each for each in self._waiting if not each.leads), None)
            if following is None:
                self._busy -= 1
            else:
                following.leads = True
                following.told.set()
