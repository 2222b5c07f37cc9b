"""Work of this process, and whether it still may go on, for the thread that renews the leases."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.work.transport.protocol import Started

# A lease of ours that nobody drives is given back when it was seen so often in a row.
STRAY_SIGHTINGS = 4


@dataclass
class RunningWork:
    """Job under way. `reporting`: the engine is about to take the lease away by itself; `outcome`: as it was reported,
    once that was taken."""

    started: Started
    task: asyncio.Task[object]
    since: float
    reporting: bool = False
    lost: bool = False
    outcome: Mapping[str, Any] | None = None


@dataclass
class Running:
    """Used in the event loop's thread only. `clock` answers seconds."""

    clock: Callable[[], float] = time.monotonic
    work: dict[int, RunningWork] = field(default_factory=dict)
    abandoned: set[int] = field(default_factory=set)
    _strays: dict[tuple[int, uuid.UUID], int] = field(default_factory=dict)

    def begin_work(self, started: Started, task: asyncio.Task[object]) -> RunningWork:
        """A job may come back under another lease while its earlier run is still being driven: it was held and let go
        again. That run is lost."""
        running_work, job_id = RunningWork(started, task, self.clock()), started.orders.job_id
        if (earlier := self.work.get(job_id)) is not None:
            _cancel_lost_work(earlier)
        self.abandoned.discard(job_id)
        self.work[job_id] = running_work
        return running_work

    def stop_renewing_lease(self, work: RunningWork) -> None:
        """Nobody renews its lease: it expires, and counts as an attempt, so that it cannot go on for ever."""
        if self.work.get(work.started.orders.job_id) is work:
            self.abandoned.add(work.started.orders.job_id)

    def forget_work_if_current(self, work: RunningWork) -> None:
        # A later run of the same job may stand there by now
        if self.work.get(work.started.orders.job_id) is work:
            del self.work[work.started.orders.job_id]

    @property
    def is_idle(self) -> bool:
        return not self.work and not self._strays

    def settle_leases_and_return_strays(
        self, leases: Mapping[int, uuid.UUID], asked_at: float
    ) -> list[tuple[int, uuid.UUID]]:
        """Compare with what the database said to a renewal that began at `asked_at`. Work whose lease is gone is
        cancelled, which kills its processes. Answers the leases that nobody drives."""
        for job_id, work in list(self.work.items()):
            is_current = leases.get(job_id) == work.started.lease
            # The lease of what began later could not be in the answer
            if not is_current and work.since < asked_at:
                _cancel_lost_work(work)
        unknown = {(job_id, key) for job_id, key in leases.items() if job_id not in self.work}
        unknown = {pair for pair in unknown if pair[0] not in self.abandoned}
        # In a row: one that is missing once is counted anew
        self._strays = {pair: self._strays.get(pair, 0) + 1 for pair in unknown}
        return [pair for pair, sightings in self._strays.items() if sightings >= STRAY_SIGHTINGS]

    def cancel_all_as_lost(self) -> None:
        """Give up all work after being cut off from the database for too long: others may have taken it over."""
        for work in self.work.values():
            # What is being reported, too, unlike in `_cancel_lost_work`: others had the time to take all of it over
            if not work.lost:
                work.lost = True
                work.task.cancel()


def _cancel_lost_work(work: RunningWork) -> None:
    if not work.reporting and not work.lost:
        work.lost = True
        work.task.cancel()
