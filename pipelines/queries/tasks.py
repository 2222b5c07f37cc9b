"""Tables of tasks: one over all lines of a project or of everything that one may see, searched and narrowed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from pipelines.models import WAITING_FOR_INPUT, GateVisit, Line, Project, Status, Task, User, displayed
from pipelines.queries.dates import EVER, Dates
from pipelines.queries.line_filter import of_line

PER_PAGE = 50
OPEN = "open"
WAITING = (Status.AWAITING_REVIEW, WAITING_FOR_INPUT, Status.BLOCKED, Status.HELD)
"""For people."""
SORTS: Mapping[str, tuple[str, ...]] = {
    "new": ("-created_at", "-pk"),
    "old": ("created_at", "pk"),
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
    late: str = ""  # "yes": open, and past its due time or that of a review
    sort: str = "new"
    dates: Dates = EVER
    """When they were started."""

    @property
    def narrowed(self) -> bool:
        return self != TaskFilter(sort=self.sort)


def table(projects: Iterable[Project], search: TaskFilter, user: User, page: int) -> Page:
    rows = narrowed(Task.objects.filter(project__in=list(projects)), search, user)
    rows = rows.select_related("project__owner", "line").defer(
        "context", "variables", "inputs", "visits", "edges"
    )
    return Paginator(rows.order_by(*SORTS.get(search.sort, SORTS["new"])), PER_PAGE).get_page(page)


def narrowed(rows: QuerySet[Task], search: TaskFilter, user: User) -> QuerySet[Task]:
    """Each with the status that is shown."""
    rows = displayed(rows)
    if search.q:
        rows = rows.filter(matching(search.q))
    if search.status == OPEN:
        rows = rows.filter(ended_at__isnull=True)
    elif search.status == "ended":
        rows = rows.filter(ended_at__isnull=False)
    elif search.status == "waiting":
        rows = rows.filter(Q(display_status__in=WAITING))
    elif search.status:
        rows = rows.filter(Q(display_status=search.status))
    rows = rows.filter(of_line(search.line))
    if search.priority:
        rows = rows.filter(priority=search.priority)
    if search.late:
        rows = rows.filter(late())
    rows = rows.filter(search.dates.of("created_at"))
    return rows.filter(requester=user) if search.requester == "me" else rows


def late() -> Q:
    """Open tasks past their due time, or at a gate past its."""
    asked = GateVisit.objects.filter(task=OuterRef("pk"), state=GateVisit.State.OPEN, due_at__lt=Now())
    return Q(ended_at__isnull=True) & (Q(due_at__lt=Now()) | Q(Exists(asked)))


def matching(words: str) -> Q:
    """By number (`WI-app-42`, `42`), title or label."""
    found = Q(title__icontains=words) | Q(labels__contains=[words])
    number = words.rpartition("-")[2]
    if number.isascii() and number.isdigit() and len(number) < 19:
        found |= Q(number=int(number))
    return found


def counts(projects: Iterable[Project]) -> dict[str, int]:
    """How many open tasks there are in each status that is shown."""
    rows = displayed(Task.objects.filter(project__in=list(projects), ended_at__isnull=True))
    return dict(rows.values_list("display_status").annotate(n=Count("pk")))


def lines_of(project: Project) -> list[Line]:
    """With `open_count` and `stuck_count` of each, those that are archived last."""
    is_open = Q(tasks__ended_at__isnull=True)
    return list(
        Line.objects.filter(project=project)
        .select_related("live", "draft_by")
        .annotate(
            open_count=Count("tasks", filter=is_open),
            stuck_count=Count("tasks", filter=Q(tasks__status=Status.STUCK)),
            review_count=Count("tasks", filter=Q(tasks__status=Status.AWAITING_REVIEW)),
        )
        .defer("draft", "draft_text")
        .order_by(F("archived_at").asc(nulls_first=True), "name", "key")
    )
