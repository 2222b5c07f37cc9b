"""The lines of Home: what is open on each, what completed today and on the days before, and how long it takes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from django.db import connection
from django.db.models import Count, F, OuterRef, Subquery
from django.db.models.functions import TruncDate
from django.utils import timezone

from pipelines.models import Line, Project, Status, Task
from pipelines.queries.tasks import WAITING

SHOWN = 8
DAYS = 14
WORKING = (Status.RUNNING, Status.EVALUATING)

MEDIANS = """SELECT line_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY EXTRACT(EPOCH FROM ended_at - created_at))
FROM pipelines_task WHERE line_id = ANY(%s) AND status = 'completed' AND ended_at >= %s GROUP BY line_id"""


@dataclass(frozen=True, slots=True)
class HomeLine:
    """`days`: how many completed on each of the last DAYS days, today last. `median`: seconds from start to a completed
    end in these days."""

    line: Line
    running: int
    waiting: int
    stuck: int
    days: Sequence[int]
    median: float | None

    @property
    def completed(self) -> int:
        return self.days[-1]


@dataclass(frozen=True, slots=True)
class HomeLines:
    """The busiest first; `more` are not shown. A column of which no line has anything is not shown either."""

    rows: Sequence[HomeLine]
    more: int

    @property
    def running(self) -> bool:
        return any(row.running for row in self.rows)

    @property
    def waiting(self) -> bool:
        return any(row.waiting for row in self.rows)

    @property
    def stuck(self) -> bool:
        return any(row.stuck for row in self.rows)

    @property
    def completed(self) -> bool:
        return any(row.completed for row in self.rows)

    @property
    def most(self) -> int:
        """On one day, of one line."""
        return max((number for row in self.rows for number in row.days), default=0)

    @property
    def median(self) -> bool:
        return any(row.median is not None for row in self.rows)


def lines_of(
    projects: Sequence[Project], now: datetime, open_ones: Mapping[int, Mapping[str, int]]
) -> HomeLines:
    """Of what is live and not archived, in a number of statements that does not grow. `open_ones`: by the id of a line,
    how many of its tasks are open in each status that is shown."""
    ended = Task.objects.filter(line=OuterRef("pk"), ended_at__isnull=False).order_by("-ended_at")
    live = Line.objects.filter(project__in=projects, live__isnull=False, archived_at=None)
    every = live.annotate(last_end=Subquery(ended.values("ended_at")[:1])).order_by(
        F("last_end").desc(nulls_last=True), "name", "pk"
    )
    ids = sorted(every.values_list("pk", flat=True), key=lambda pk: -sum(open_ones.get(pk, {}).values()))
    more, ids = len(ids[SHOWN:]), ids[:SHOWN]
    read = live.select_related("project__owner", "live").only(
        "key", "name", "live__number", "project__key", "project__name", "project__owner__key"
    )
    found = read.in_bulk(ids)
    lines = [found[pk] for pk in ids if pk in found]
    today = timezone.localdate(now)
    first = today - timedelta(days=DAYS - 1)
    since = timezone.make_aware(datetime.combine(first, time.min))
    days, medians = _days(ids, since), _medians(ids, since)
    rows = [
        HomeLine(
            line,
            sum(each.get(status, 0) for status in WORKING),
            sum(each.get(status, 0) for status in WAITING),
            each.get(Status.STUCK, 0),
            [days[line.pk][first + timedelta(days=n)] for n in range(DAYS)],
            medians.get(line.pk),
        )
        for line, each in ((line, open_ones.get(line.pk, {})) for line in lines)
    ]
    return HomeLines(rows, more)


def _days(ids: Sequence[int], since: datetime) -> defaultdict[int, Counter[date]]:
    """How many completed on each day of the active time zone."""
    rows = Task.objects.filter(line__in=ids, status=Status.COMPLETED, ended_at__gte=since).order_by()
    found: defaultdict[int, Counter[date]] = defaultdict(Counter)
    by_day = rows.annotate(day=TruncDate("ended_at")).values_list("line", "day").annotate(n=Count("pk"))
    for line, day, number in by_day:
        found[line][day] = number
    return found


def _medians(ids: Sequence[int], since: datetime) -> dict[int, float]:
    with connection.cursor() as cursor:
        cursor.execute(MEDIANS, [list(ids), since])
        return {line: float(seconds) for line, seconds in cursor.fetchall()}
