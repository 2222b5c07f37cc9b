"""Tables of tasks: one over all lines of a project or of everything that one may see, searched and narrowed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q, QuerySet

from pipelines.models import ENDED, GateVisit, Job, Line, Project, Status, Task, Token, User

PER_PAGE = 50
OPEN = "open"
SORTS: Mapping[str, tuple[str, ...]] = {
    "new": ("-created_at", "-pk"),
    "old": ("created_at", "pk"),
    "changed": ("-changed_at", "-pk"),
    "due": ("due_at", "-created_at"),
    "title": ("title", "-created_at"),
    "priority": ("priority", "-created_at"),
}


@dataclass(frozen=True, slots=True)
class Search:
    """Everything that narrows a table of tasks; all of it stands in the address, so that a view can be kept."""

    q: str = ""
    status: str = ""  # a status, "open", or "ended"
    line: str = ""
    priority: str = ""
    requester: str = ""  # "me"
    sort: str = "new"

    @property
    def narrowed(self) -> bool:
        return bool(self.q or self.status or self.line or self.priority or self.requester)


def table(projects: Iterable[Project], search: Search, user: User, page: int) -> Page:
    rows = narrowed(Task.objects.filter(project__in=list(projects)), search, user)
    rows = rows.select_related("project__owner", "line").defer(
        "context", "variables", "inputs", "visits", "edges"
    )
    return Paginator(rows.order_by(*SORTS.get(search.sort, SORTS["new"])), PER_PAGE).get_page(page)


def narrowed(rows: QuerySet[Task], search: Search, user: User) -> QuerySet[Task]:
    if search.q:
        rows = rows.filter(matching(search.q))
    if search.status == OPEN:
        rows = rows.filter(ended_at__isnull=True)
    elif search.status == "ended":
        rows = rows.filter(ended_at__isnull=False)
    elif search.status:
        rows = rows.filter(status=search.status)
    if search.line:
        rows = rows.filter(line__key=search.line)
    if search.priority:
        rows = rows.filter(priority=search.priority)
    return rows.filter(requester=user) if search.requester == "me" else rows


def matching(words: str) -> Q:
    """By number (`WI-app-42`, `42`), title or label."""
    found = Q(title__icontains=words) | Q(labels__contains=[words])
    number = words.rpartition("-")[2]
    if number.isascii() and number.isdigit() and len(number) < 19:
        found |= Q(number=int(number))
    return found


def counts(projects: Iterable[Project]) -> dict[str, int]:
    """How many tasks there are in each status."""
    rows = Task.objects.filter(project__in=list(projects)).values_list("status").annotate(n=Count("pk"))
    return dict(rows)


@dataclass(frozen=True, slots=True)
class Home:
    """`needs`: gate visits that ask for this person, questions and manual jobs that one may take."""

    gates: list[GateVisit]
    questions: list[Token]
    manual: list[Job]
    troubled: list[Token]
    mine: list[Task]
    today: list[Task]
    today_counts: dict[str, int]
    running: int

    @property
    def needs(self) -> int:
        return len(self.gates) + len(self.questions) + len(self.manual)


SHOWN = 8
MOST = 100


def open_visits(user: User, projects: Iterable[Project]) -> list[GateVisit]:
    """Open gate visits of these projects at which one has not voted yet, oldest first."""
    visits = GateVisit.objects.filter(task__project__in=list(projects), state=GateVisit.State.OPEN)
    visits = visits.exclude(votes__user=user).select_related("task__project__owner", "task__line", "asked_by")
    return list(
        visits.defer("evidence", "asked_by__situation", "asked_by__trace").order_by("opened_at")[:MOST]
    )


def home(
    user: User,
    projects: Iterable[Project],
    operates: Iterable[Project],
    asked: Iterable[GateVisit],
    now: datetime,
) -> Home:
    """`operates`: where one may answer, complete and retry; `asked`: the gate visits that ask for this person."""
    seen, worked = list(projects), list(operates)
    tasks = Task.objects.filter(project__in=seen).select_related("project__owner", "line")
    alive = Token.objects.exclude(status__in=ENDED).select_related(
        "task__project__owner", "task__line", "task__pinned"
    )
    manual = Job.objects.filter(task__project__in=worked, kind="manual", state=Job.State.RUNNING)
    today = tasks.filter(ended_at__gte=now - timedelta(hours=24))
    return Home(
        list(asked)[:SHOWN],
        list(alive.filter(task__project__in=worked, status=Status.BLOCKED).order_by("changed_at")[:SHOWN]),
        list(manual.select_related("task__project__owner", "task__line").order_by("created_at")[:SHOWN]),
        list(alive.filter(_troubled(now), task__project__in=seen).order_by("changed_at").distinct()[:SHOWN]),
        list(tasks.filter(requester=user, ended_at__isnull=True).order_by("-created_at")[:SHOWN]),
        list(today.order_by("-ended_at")[:SHOWN]),
        dict(today.values_list("status").annotate(n=Count("pk"))),
        tasks.filter(
            ended_at__isnull=True, status__in=(Status.RUNNING, Status.QUEUED, Status.EVALUATING)
        ).count(),
    )


def _troubled(now: datetime) -> Q:
    return Q(status__in=(Status.STUCK, Status.HELD)) | Q(task__due_at__lt=now)


def lines_of(project: Project) -> list[Line]:
    """With `open_count` and `stuck_count` of each."""
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
        .order_by("name", "key")
    )
