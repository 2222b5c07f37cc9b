"""Selection of Insights: the lines and the days that count, and what every group of figures is split by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any, Generic, TypeVar

from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format

from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.queries.dates import DateRange
from pipelines.web.shell.page import requested_date_range

Figures = TypeVar("Figures")
PRESETS = {7: "7 days", 30: "30 days", 90: "90 days", 365: "12 months"}
DEFAULT_DAYS = 30
MAX_DAYS = 3_660
WEEK, FOUR_WEEKS = 7, 28


@dataclass(frozen=True, slots=True)
class Groups(Generic[Figures]):
    """The same figures of everything, of each line by its id, of each bucket of days, and of each smaller part."""

    total: Figures
    by_line: Mapping[int, Figures]
    by_bucket: Mapping[int, Figures]
    by_part: Mapping[tuple[Any, ...], Figures]


@dataclass(frozen=True)
class Period:
    """Days from one to another, both included, in the time zone of the project, which the pages of Insights activate.
    `preset`: its number of days, or 0."""

    since: date
    until: date
    preset: int = 0

    @property
    def days(self) -> int:
        return (self.until - self.since).days + 1

    @property
    def dates(self) -> DateRange:
        return DateRange(self.since, self.until)

    @property
    def width(self) -> int:
        """Days of one point of a chart."""
        return 1 if self.days <= 31 else WEEK if self.days <= 371 else FOUR_WEEKS

    @property
    def buckets(self) -> list[date]:
        """The first day of each point."""
        return [self.since + timedelta(days=day) for day in range(0, self.days, self.width)]

    @property
    def is_month(self) -> bool:
        """True if these are all the days of a calendar month, and no number of days was asked for."""
        return not self.preset and self == month_of(self.since)

    @property
    def previous_period(self) -> Period:
        """Return as many days, right before these; before a calendar month the one before it."""
        if self.is_month:
            return month_of(self.since - timedelta(days=1))
        return Period(self.since - timedelta(days=self.days), self.since - timedelta(days=1))

    @property
    def before_text(self) -> str:
        if self.is_month:
            return date_format(self.previous_period.since, "F Y")
        return f"the {self.days} days before" if self.days > 1 else "the day before"


def month_of(day: date) -> Period:
    """Return the calendar month of a day."""
    first = day.replace(day=1)
    return Period(first, (first + timedelta(days=31)).replace(day=1) - timedelta(days=1))


@dataclass(frozen=True)
class InsightsSelection:
    """Lines and period that count, and the moment at which they are counted."""

    lines: Sequence[int]
    period: Period
    now: datetime

    @property
    def before(self) -> InsightsSelection:
        return InsightsSelection(self.lines, self.period.previous_period, self.now)

    @cached_property
    def values(self) -> Mapping[str, Any]:
        """Parameters of the statements."""
        start, end = self.period.dates.first_moment_and_first_after
        return {
            "lines": list(self.lines),
            "start": start,
            "end": end,
            "zone": timezone.get_current_timezone_name(),
            "first": self.period.since,
            "width": self.period.width,
            "before": self.period.previous_period.dates.first_moment_and_first_after[0],
            "now": self.now,
        }

    def fetch_groups(
        self, sql: str, figures: Callable[..., Figures], parts: int = 0, **more: Any
    ) -> Groups[Figures]:
        """Send a statement whose rows begin with bucket, line and `parts` more keys; null keys do not split."""
        rows: Iterable[Sequence[Any]] = fetch(sql, {**self.values, **more})
        total: Figures | None = None
        by_line, by_bucket, by_part = {}, {}, {}
        for bucket, line, *rest in rows:
            part, value = tuple(rest[:parts]), figures(*rest[parts:])
            # GROUPING SETS leave null what a row is not split by
            if any(key is not None for key in part):
                by_part[line, *part] = value
            elif bucket is not None:
                by_bucket[bucket] = value
            elif line is not None:
                by_line[line] = value
            else:
                total = value
        return Groups(figures() if total is None else total, by_line, by_bucket, by_part)


def requested_period_or_last_30_days(request: HttpRequest) -> Period:
    """`?days=` one of the presets, or `?since=` and `?until=`; without either the last 30 days."""
    today, dates = timezone.localdate(), requested_date_range(request)
    if dates:
        until = dates.until or max(today, dates.since or today)
        since = dates.since or until - timedelta(days=DEFAULT_DAYS - 1)
        # Two dates are a period in whichever order they were typed
        since, until = min(since, until), max(since, until)
        return Period(max(since, until - timedelta(days=MAX_DAYS - 1)), until)
    wish = request.GET.get("days", "")
    days = int(wish) if wish in {str(preset) for preset in PRESETS} else DEFAULT_DAYS
    return Period(today - timedelta(days=days - 1), today, days)
