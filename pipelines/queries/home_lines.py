"""The lines of Home: what is open on each, what completed today and on the days before, and how long it takes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import TruncDate
from django.utils import timezone

from pipelines.models import Line, Project, Status, Task
from pipelines.models.plumbing.compiled_queries import array_field, compiled, fetch
from pipelines.queries.pauses import line_is_paused_condition
from pipelines.queries.statements import HOME_TIMES
from pipelines.queries.tasks import WAITING
from pipelines.queries.unmerged import unmerged_condition

MAX_LINES = 8
DAYS = 14
WORKING = (Status.RUNNING, Status.EVALUATING)


@dataclass(frozen=True, slots=True)
class HomeLine:
    """`blocked`: of those that wait. `days`: how many completed on each of the last DAYS days, today last. `median`:
    seconds from start to a completed end in these days."""

    line: Line
    running: int
    waiting: int
    blocked: int
    stuck: int
    days: Sequence[int]
    median: float | None

    @property
    def completed_today(self) -> int:
        return self.days[-1]


@dataclass(frozen=True, slots=True)
class HomeLines:
    """The busiest first; `more` are not shown: those without a task where others have some, too. A column of which no
    line has anything is not shown either."""

    rows: Sequence[HomeLine]
    more: int

    @property
    def any_running(self) -> bool:
        return any(row.running for row in self.rows)

    @property
    def any_waiting(self) -> bool:
        return any(row.waiting for row in self.rows)

    @property
    def any_stuck(self) -> bool:
        return any(row.stuck for row in self.rows)

    @property
    def any_completed(self) -> bool:
        return any(row.completed_today for row in self.rows)

    @property
    def most_completed_in_a_day(self) -> int:
        """Highest number of completed tasks on one day, of one line."""
        return max((number for row in self.rows for number in row.days), default=0)

    @property
    def any_median(self) -> bool:
        return any(row.median is not None for row in self.rows)


def busiest_live_lines(
    projects: Sequence[Project], now: datetime, open_ones: Mapping[int, Mapping[str, int]]
) -> HomeLines:
    """Return the lines that are live and not archived, in a number of statements that does not grow.
    `open_ones`: by the id of a line, how many of its tasks are open in each status that is displayed."""
    every = _live_lines(projects=[project.pk for project in projects])
    open_of = {pk: sum(open_ones.get(pk, {}).values()) for pk, _ended in every}
    # Stable: of those with as many open tasks the order of the statement stays.
    every.sort(key=lambda row: -open_of[row[0]])
    busy = [pk for pk, ended in every if ended or open_of[pk]]
    # Where nothing has run yet, what could run is worth a row
    visible_ids = (busy or [pk for pk, _ended in every])[:MAX_LINES]
    more = len(every) - len(visible_ids)
    lines_by_id, of = (
        {line.pk: line for line in _displayed_lines(lines=visible_ids)},
        {project.pk: project for project in projects},
    )
    # Between the two statements somebody may have archived one
    lines = [lines_by_id[pk] for pk in visible_ids if pk in lines_by_id]
    for line in lines:
        line.project = of[line.project_id]
    today = timezone.localdate(now)
    first = today - timedelta(days=DAYS - 1)
    since = timezone.make_aware(datetime.combine(first, time.min))
    days, medians = (
        _completions_by_line_and_day(visible_ids, since),
        _median_seconds_by_line(visible_ids, since),
    )
    rows = [
        HomeLine(
            line,
            sum(open_counts.get(status, 0) for status in WORKING),
            sum(open_counts.get(status, 0) for status in WAITING),
            open_counts.get(Status.BLOCKED, 0),
            open_counts.get(Status.STUCK, 0),
            [days[line.pk][first + timedelta(days=n)] for n in range(DAYS)],
            medians.get(line.pk),
        )
        for line, open_counts in ((line, open_ones.get(line.pk, {})) for line in lines)
    ]
    return HomeLines(rows, more)


@compiled(projects=array_field())
def _live_lines(projects: Any) -> QuerySet[Line, tuple[int, datetime | None]]:
    """Select the live lines, those where something ended last first."""
    ended = Task.objects.filter(line=OuterRef("pk"), ended_at__isnull=False).order_by("-ended_at")
    live = Line.objects.filter(project__among=projects, live__isnull=False, archived_at=None)
    every = live.annotate(last_end=Subquery(ended.values("ended_at")[:1]))
    return every.order_by(F("last_end").desc(nulls_last=True), "name", "pk").values_list("pk", "last_end")


@compiled(lines=array_field())
def _displayed_lines(lines: Any) -> QuerySet[Line]:
    read = Line.objects.filter(pk__among=lines, live__isnull=False, archived_at=None).select_related("live")
    return read.only("key", "name", "project", "live__number").annotate(is_paused=line_is_paused_condition())


def _completions_by_line_and_day(lines: Sequence[int], since: datetime) -> defaultdict[int, Counter[date]]:
    """Return how many tasks completed on each day of the active time zone, by line."""
    rows = Task.objects.filter(
        ~unmerged_condition(), line__among=lines, status=Status.COMPLETED, ended_at__gte=since
    )
    days_by_line: defaultdict[int, Counter[date]] = defaultdict(Counter)
    by_day = (
        rows.order_by().annotate(day=TruncDate("ended_at")).values_list("line", "day").annotate(n=Count("pk"))
    )
    for line, day, number in by_day:
        days_by_line[line][day] = number
    return days_by_line


def _median_seconds_by_line(lines: Sequence[int], since: datetime) -> dict[int, float]:
    return {line: float(seconds) for line, seconds in fetch(HOME_TIMES, [list(lines), since])}
