"""A pause as the moves of its tasks see it (law §17)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pipelines.routing.decide.holds import Wait, scope_hold


@dataclass(frozen=True)
class PauseSpan:
    """A pause of a task. `station`: the one that it is for; "": all. `ended_at`: None while it is in force."""

    id: int
    station: str
    stops: bool
    by: str
    reason: str
    since: datetime
    ended_at: datetime | None = None

    @property
    def wait(self) -> Wait:
        """The `wait` of work that it holds."""
        return scope_hold(self.id, self.by, self.reason, self.since.isoformat())

    def covers(self, station: str | None) -> bool:
        return self.station in ("", station)

    @property
    def in_force(self) -> bool:
        return self.ended_at is None
