"""Reports of one project that come to this process at the same time go to the engine in one transaction (house §2).

Nobody waits for who may come: those who come while all lanes are taken go together with the next that gets one. Nobody
waits for another project, or long for their own: who gets no lane at once, as where a task that others report on is
locked, goes by themselves."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from pipelines.engine import Report
from pipelines.engine.commands.report import LARGEST_BATCH
from pipelines.work.transport.local import reports
from pipelines.work.transport.protocol import ReportAnswer

LANES: Final = 2
"""Transactions at once of a project."""
PATIENCE: Final = 0.05
"""Seconds for a lane: many times what a transaction takes."""
PROJECTS: Final = 256
"""Of which one has gone longest is forgotten; who waits there is not."""


class _Brought:
    """What one call reports. `answers`: None where those who took it along failed."""

    def __init__(self, said: Sequence[Report]) -> None:
        self.said, self.is_taken, self.is_over = said, False, threading.Event()
        self.answers: list[ReportAnswer] | None = None


class Gathering:
    def __init__(self, lanes: int = LANES, patience: float = PATIENCE) -> None:
        self._lanes, self._lock = threading.Semaphore(lanes), threading.Lock()
        self._patience = patience
        self._waiting: list[_Brought] = []

    def deliver(self, said: Sequence[Report]) -> list[ReportAnswer]:
        """One answer each, in their order."""
        mine = _Brought(said)
        with self._lock:
            self._waiting.append(mine)
        if self._lanes.acquire(timeout=self._patience):
            try:
                _send(self._taken_with(mine))
            finally:
                self._lanes.release()
        elif self._withdrawn(mine):
            return reports.deliver(list(said))
        mine.is_over.wait()
        return reports.deliver(list(said)) if mine.answers is None else mine.answers

    def _withdrawn(self, mine: _Brought) -> bool:
        """Whether nobody had taken it along."""
        with self._lock:
            if not mine.is_taken:
                self._waiting.remove(mine)
            return not mine.is_taken

    def _taken_with(self, mine: _Brought) -> list[_Brought]:
        """Those that go now; none where another lane took this one along."""
        with self._lock:
            if mine.is_taken:
                return []
            room, taken = LARGEST_BATCH - len(mine.said), [mine]
            for each in self._waiting:
                if each is not mine and len(each.said) <= room:
                    taken.append(each)
                    room -= len(each.said)
            for each in taken:
                each.is_taken = True
                self._waiting.remove(each)
            return taken


def _send(taken: Sequence[_Brought]) -> None:
    """What is raised is raised where it was sent from; the others then go by themselves."""
    try:
        if taken:
            answers = iter(reports.deliver([report for each in taken for report in each.said]))
            for each in taken:
                each.answers = [next(answers) for _report in each.said]
    finally:
        for each in taken:
            each.is_over.set()


@lru_cache(maxsize=PROJECTS)
def of_project(project: int | None) -> Gathering:
    return Gathering()
