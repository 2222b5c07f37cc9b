"""Range from one day to another, in the active time zone; a side without a day is open."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from django.db.models import Q
from django.utils import timezone


@dataclass(frozen=True, slots=True)
class DateRange:
    """Range of dates, both days included."""

    since: date | None = None
    until: date | None = None

    def __bool__(self) -> bool:
        return bool(self.since or self.until)

    def __contains__(self, at: datetime) -> bool:
        start, end = self.first_moment_and_first_after
        return (start is None or at >= start) and (end is None or at < end)

    @property
    def first_moment_and_first_after(self) -> tuple[datetime | None, datetime | None]:
        """The first moment that belongs to it, and the first after it."""
        # The next day, not 24 hours later: where clocks change, a day has 23 or 25.
        return _begin_of_day_or_none(self.since), _begin_of_day_or_none(
            self.until + timedelta(days=1)
        ) if self.until else None

    @property
    def query(self) -> dict[str, str]:
        """Query parameters of the range, as they stand in an address."""
        days = {"since": self.since, "until": self.until}
        return {name: day.isoformat() for name, day in days.items() if day}

    def condition_on(self, field: str) -> Q:
        start, end = self.first_moment_and_first_after
        condition = Q(**{f"{field}__gte": start}) if start else Q()
        return condition & Q(**{f"{field}__lt": end}) if end else condition


EVER = DateRange()


def _begin_of_day_or_none(day: date | None) -> datetime | None:
    return timezone.make_aware(datetime.combine(day, time.min)) if day else None
