"""Tables of tasks: one over all lines of a project or of everything that one may see, searched and narrowed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.core.paginator import Page, Paginator
from django.db.models import Case, CharField, Count, F, Q, QuerySet, When
from django.utils import timezone
from django.utils.functional import cached_property

from pipelines.models import (
    ENDED,
    WAITING_FOR_INPUT,
    Line,
    Project,
    Status,
    Task,
    User,
    tasks_with_display_status,
)
from pipelines.models.plumbing.compiled_queries import array_field, compiled
from pipelines.queries.dates import EVER, DateRange
from pipelines.queries.late import late_condition
from pipelines.queries.line_filter import line_condition
from pipelines.queries.pauses import line_is_paused_condition
from pipelines.queries.task_search import NEWEST, OLDEST, ids_of_matching_tasks
from pipelines.queries.unmerged import unmerged_among

PER_PAGE = 50
MOST = 10_000
"""What is beyond is found by narrowing or sorting: neither counted nor skipped over."""
MOST_WITH_WORDS = 1_000
"""Of a search."""
OPEN = "open"
WAITING = (Status.AWAITING_REVIEW, WAITING_FOR_INPUT, Status.BLOCKED, Status.HELD)
"""For people."""
SORTS: Mapping[str, tuple[str, ...]] = {
    "new": NEWEST,
    "old": OLDEST,
    "changed": ("-changed_at", "-pk"),
    "due": ("due_at", "-created_at"),
    "title": ("title", "-created_at"),
    "priority": ("priority", "-created_at"),
}


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """Everything that narrows a table of tasks; all of it stands in the address, so that a view can be kept."""

    q: str = ""
    status: str = ""  # a status, "open", "waiting", or "ended"
    line: str = ""
    """As `line_filter` writes it."""
    priority: str = ""
    requester: str = ""  # "me"
    late: str = ""  # "yes": as `late_condition` has it
    sort: str = "new"
    dates: DateRange = EVER
    """When they were started."""

    @property
    def is_narrowed(self) -> bool:
        return self != TaskFilter(sort=self.sort)


OF_STATUS: Mapping[str, tuple[str, ...]] = {
    "waiting": (*WAITING, Status.RUNNING, Status.EVALUATING),
    WAITING_FOR_INPUT: (Status.RUNNING, Status.EVALUATING, Status.BLOCKED),
    Status.BLOCKED: (Status.BLOCKED,),
    Status.HELD: (Status.HELD, Status.BLOCKED),
    Status.AWAITING_REVIEW: (Status.AWAITING_REVIEW, Status.BLOCKED),
}
"""Which statuses of tasks are shown so, where not that one alone: these are found by index."""


class BoundedPaginator(Paginator):
    """Counts no further than `most`; with `beyond` there are more."""

    def __init__(self, rows: QuerySet[Task], most: int) -> None:
        super().__init__(rows, PER_PAGE)
        self.most = most

    @cached_property
    def count_up_to_limit(self) -> int:
        rows = cast("QuerySet[Task]", self.object_list)
        # One more than `most` tells that there are more.
        return rows.order_by().values("pk")[: self.most + 1].count()

    @cached_property
    def count(self) -> int:
        return min(self.count_up_to_limit, self.most)

    @property
    def exceeds_limit(self) -> bool:
        return self.count_up_to_limit > self.most

    def page(self, number: int | str) -> Page:
        """Its rows with the status that is shown, which is looked up for no other row."""
        page = super().page(number)
        page.object_list = list(tasks_with_display_status(self.rows(page.object_list)))
        return page

    def rows(self, part: Any) -> QuerySet[Task]:
        return cast("QuerySet[Task]", part)


class SearchPaginator(BoundedPaginator):
    """Paginator of the rows with these ids, which are in order and at most one more than `most`."""

    def __init__(self, rows: QuerySet[Task], most: int, ids: Sequence[int]) -> None:
        super().__init__(rows, most)
        self.object_list: Any = ids
        self.count_up_to_limit = len(ids)
        self._rows = rows

    def rows(self, part: Any) -> QuerySet[Task]:
        return self._rows.filter(pk__in=part)


ROW_FIELDS = (
    *(
        "project",
        "line",
        "pinned",
        "number",
        "title",
        "labels",
        "status",
        "priority",
        "due_at",
        "requested_by",
    ),
    *("created_at", "ended_at"),
)
"""Of a row of a table; an object of each project and line for each row costs more than the rest."""


def search_page(projects: Sequence[Project], search: TaskFilter, user: User, page: int) -> Page:
    among = Task.objects.filter(line_condition(search.line), project__in=list(projects))
    order = SORTS.get(search.sort, SORTS["new"])
    rows = narrowed_tasks(among, search, user).only(*ROW_FIELDS).order_by(*order)
    paginator = BoundedPaginator(rows, MOST)
    if search.q:
        ids = ids_of_matching_tasks(rows, among, search.q, order, MOST_WITH_WORDS + 1)
        paginator = SearchPaginator(rows, MOST_WITH_WORDS, ids)
    task_page = paginator.get_page(page)
    of = {project.pk: project for project in projects}
    lines = Line.objects.only("key", "name").in_bulk({task.line_id for task in task_page})
    unmerged = unmerged_among(list(task_page))
    for task in task_page:
        task.unmerged = task.pk in unmerged
        task.project, task.line = of[task.project_id], lines[task.line_id]
    return task_page


def narrowed_tasks(rows: QuerySet[Task], search: TaskFilter, user: User) -> QuerySet[Task]:
    """Narrow tasks by everything but words and line. The status that is displayed is looked up where it is
    searched for alone."""
    if search.status == OPEN:
        rows = rows.filter(ended_at__isnull=True)
    elif search.status == "ended":
        rows = rows.filter(ended_at__isnull=False)
    elif search.status:
        display_statuses = WAITING if search.status == "waiting" else (search.status,)
        rows = rows.filter(status__in=OF_STATUS.get(search.status, display_statuses))
        # The shown status is worked out only of tasks that an index has found by the stored one.
        rows = tasks_with_display_status(rows).filter(Q(display_status__in=display_statuses))
    if search.priority:
        rows = rows.filter(priority=search.priority)
    if search.late:
        rows = rows.filter(late_condition(rows, timezone.now()))
    rows = rows.filter(search.dates.condition_on("created_at"))
    return rows.filter(requester=user) if search.requester == "me" else rows


UNLIKE = (Status.RUNNING, Status.EVALUATING, Status.BLOCKED)
"""Statuses of tasks that may be shown as another one: few tasks have them at a time."""


def displayed_status_counts_by_line(projects: Iterable[Project]) -> dict[int, Counter[str]]:
    """Return how many tasks there are in each displayed status, by the id of each line with open tasks."""
    lines = _line_ids(projects=[project.pk for project in projects])
    by_line: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for (line, status), number in _task_count_by_line_and_status(
        lines, set(Status.values) - {*ENDED, *UNLIKE}
    ).items():
        by_line[line][status] = number
    for line, status, number in _display_status_counts(lines=lines):
        by_line[line][status] += number
    return by_line


@compiled(projects=array_field())
def _line_ids(projects: Any) -> QuerySet[Line, int]:
    return Line.objects.filter(project__among=projects).order_by().values_list("pk", flat=True)


@compiled(lines=array_field())
def _display_status_counts(lines: Any) -> QuerySet[Task, tuple[int, str, int]]:
    rows = tasks_with_display_status(Task.objects.filter(line__among=lines, status__in=UNLIKE)).order_by()
    return rows.values_list("line", "display_status").annotate(n=Count("pk"))


@compiled(lines=array_field(), statuses=array_field(CharField()))
def _status_counts(lines: Any, statuses: Any) -> QuerySet[Task, tuple[int, str, int]]:
    rows = Task.objects.filter(line__among=lines, status__among=statuses).order_by()
    return rows.values_list("line_id", "status").annotate(n=Count("*"))


def _task_count_by_line_and_status(
    lines: Collection[int], statuses: Collection[str]
) -> dict[tuple[int, str], int]:
    """Return the counts by line and status, read from the index of lines and statuses alone."""
    rows = _status_counts(lines=list(lines), statuses=[str(status) for status in statuses])
    return {(line, status): number for line, status, number in rows}


def lines_with_counts(project: Project) -> list[Line]:
    """Return the lines with `open_count`, `stuck_count`, `review_count`, `is_paused` and `drawing_digest` (None
    before it is drawn) of each, those that are archived last. Tasks that have ended are not read."""
    lines = (
        Line.objects.filter(project=project)
        .select_related("live__published_by", "draft_by", "maintainer")
        .annotate(
            is_paused=line_is_paused_condition(),
            drawing_digest=Case(When(drawing__wide__gt="", then="drawing__digest")),
        )
    )
    ordered_lines = lines.defer("draft", "draft_text").order_by(
        F("archived_at").asc(nulls_first=True), "name", "key"
    )
    counted = _task_count_by_line_and_status(
        [line.pk for line in ordered_lines], set(Status.values) - {*ENDED}
    )
    for line in ordered_lines:
        by_status = {status: number for (key, status), number in counted.items() if key == line.pk}
        line.open_count = sum(by_status.values())  # type: ignore[attr-defined]
        line.stuck_count = by_status.get(Status.STUCK, 0)  # type: ignore[attr-defined]
        line.review_count = by_status.get(Status.AWAITING_REVIEW, 0)  # type: ignore[attr-defined]
    return list(ordered_lines)
