"""Lines of a project as its page lists them: what is open on each, what it did in the last days, and what that cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Max, Q

from pipelines.models import Line, Project, Status, Task
from pipelines.queries.late import late_condition
from pipelines.queries.tasks import lines_with_counts
from pipelines.queries.unmerged import unmerged_condition
from pipelines.queries.usage import NOTHING, Spending, spending_by_line_since

DAYS = 30


@dataclass(frozen=True, slots=True)
class ListedLine:
    """`ended`: tasks that ended in the last DAYS days, `accepted` of them completed and delivered what they changed.
    `last_end`: when the last of these ended. `late`: open tasks that are late. `spending`: what runs of these days
    reported."""

    line: Line
    description: str
    late: int = 0
    ended: int = 0
    accepted: int = 0
    last_end: datetime | None = None
    spending: Spending = NOTHING

    @property
    def accepted_percent(self) -> int | None:
        """Accepted among those that ended, in percent rounded down; None where none ended."""
        return 100 * self.accepted // self.ended if self.ended else None

    def matches(self, text: str) -> bool:
        """True if each word of the text is in name, key, description, owner or tags."""
        owner = str(self.line.maintainer or "")
        texts = (self.line.name, self.line.key, self.description, owner, *self.line.tags)
        searched = " ".join(texts).casefold()
        return all(word in searched for word in text.casefold().split())


def listed_lines(project: Project, now: datetime) -> list[ListedLine]:
    """Return all lines by name, archived ones last, in a number of statements that does not grow."""
    lines, since = lines_with_counts(project), now - timedelta(days=DAYS)
    keys = [line.pk for line in lines]
    ended = _ended_accepted_and_last_by_line(keys, since)
    among = Task.objects.filter(line__in=keys)
    late = dict(among.filter(late_condition(among, now)).order_by().values_list("line").annotate(Count("pk")))
    spent = spending_by_line_since(project.pk, since)
    return [
        ListedLine(
            line,
            str(line.live.document.get("description") or "") if line.live else "",
            late.get(line.pk, 0),
            *ended[line.pk],
            spending=spent.get(line.pk, NOTHING),
        )
        for line in lines
    ]


def _ended_accepted_and_last_by_line(
    lines: Sequence[int], since: datetime
) -> defaultdict[int, tuple[int, int, datetime | None]]:
    """Return (how many ended, how many of them were accepted, when the last one ended) by line."""
    # Completed alone is not accepted: the change may lie on its branch
    accepted = Q(status=Status.COMPLETED) & ~unmerged_condition()
    rows = (
        Task.objects.filter(line__in=lines, ended_at__gt=since)
        .order_by()
        .values_list("line")
        .annotate(ended=Count("pk"), accepted=Count("pk", filter=accepted), last=Max("ended_at"))
    )
    counts: defaultdict[int, tuple[int, int, datetime | None]] = defaultdict(lambda: (0, 0, None))
    counts.update({line: (ended, delivered, last) for line, ended, delivered, last in rows})
    return counts


SORTS: dict[str, tuple[str, Callable[[ListedLine], float]]] = {
    "last": ("Last run first", lambda row: row.last_end.timestamp() if row.last_end else 0.0),
    "open": ("Most open first", lambda row: float(vars(row.line)["open_count"])),
    "late": ("Most late first", lambda row: float(row.late)),
    "success": (
        "Lowest success first",
        lambda row: float(-101 if row.accepted_percent is None else -row.accepted_percent),
    ),
    "spend": ("Highest spend first", lambda row: float(row.spending.cost or 0)),
}
"""{name in the address: (label, what is sorted by, highest first)}; without one the lines are listed by name."""


def sorted_lines(rows: Sequence[ListedLine], sort: str) -> list[ListedLine]:
    """Return the rows in this order; lines that are archived stay last."""
    # An address is typed by hand, too
    if sort not in SORTS:
        return list(rows)
    _label, measure = SORTS[sort]
    return sorted(rows, key=lambda row: (row.line.archived_at is not None, -measure(row)))
