"""Durations that count only the working time of a project: its days and hours, by the clock on its wall (law §6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from pipelines.models import Project

LONGEST = 366 * 40
"""Days that are looked at; what lies beyond them is due at their end."""


@dataclass(frozen=True)
class WorkingTime:
    """`days`: 1 is Monday, 7 is Sunday; at least one. `opens`, `closes`: a `closes` of 00:00 is the end of the day.
    `free`: days on which nobody works."""

    zone: ZoneInfo
    days: frozenset[int]
    opens: time
    closes: time
    free: frozenset[date] = frozenset()

    @classmethod
    def of_project(cls, project: Project) -> WorkingTime:
        return cls(
            ZoneInfo(project.time_zone),
            frozenset(project.work_days),
            project.work_from,
            project.work_until,
            frozenset(project.days_off),
        )

    def end_after_working_seconds(self, start: datetime, seconds: float) -> datetime:
        """The instant at which this much working time has passed since `start`. An hour that the clock skips or repeats
        within the working time counts as it passes."""
        left, end = timedelta(seconds=seconds), start
        for opens, closes in self._working_windows(start):
            # The first day has begun already
            begins = max(opens, start)
            if begins < closes:
                end = min(begins + left, closes)
                left -= end - begins
            if left <= timedelta(0):
                break
        return end

    def _working_windows(self, start: datetime) -> Iterator[tuple[datetime, datetime]]:
        """The working hours of each day that is one, from that of `start` on, in UTC."""
        first = start.astimezone(self.zone).date()
        for number in range(LONGEST):
            day = first + timedelta(days=number)
            if day.isoweekday() in self.days and day not in self.free:
                last = day if self.closes != time(0) else day + timedelta(days=1)
                yield self._clock_instant(day, self.opens), self._clock_instant(last, self.closes)

    def _clock_instant(self, day: date, at: time) -> datetime:
        """The instant at which the clock shows this, or has passed it, where it skips it."""
        wall = datetime.combine(day, at)
        # PEP 495: of a time shown twice fold 0 is the first; of a skipped one it is the later.
        before, after = (wall.replace(tzinfo=self.zone, fold=fold).astimezone(UTC) for fold in (1, 0))
        # Shown once, or twice: then the first time counts.
        if after <= before:
            return after
        # Skipped: the clock jumps between the two, at a whole second.
        while (step := (after - before) // 2) >= timedelta(seconds=1):
            middle = before + step - timedelta(microseconds=step.microseconds)
            passed = middle.astimezone(self.zone).replace(tzinfo=None) >= wall
            before, after = (before, middle) if passed else (middle, after)
        return after
