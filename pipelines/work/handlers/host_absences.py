"""Absences of hosts during deliveries, as this process saw them: a delivery looks again and again, and each look sees a
moment alone."""

from __future__ import annotations

from typing import Final

MOST: Final = 1000
"""Deliveries that are remembered; the oldest go first."""


class HostAbsences:
    def __init__(self) -> None:
        self._since: dict[int, float] = {}

    def seconds_away(self, job: int, now: float) -> float:
        """Return for how long the host of this delivery has not answered."""
        while len(self._since) >= MOST:
            self._since.pop(next(iter(self._since)))
        return now - self._since.setdefault(job, now)

    def end(self, job: int) -> None:
        """It answered, or the delivery is over."""
        self._since.pop(job, None)
