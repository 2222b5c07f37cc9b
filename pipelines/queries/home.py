"""Data of Home for the projects in view: open tasks, what runs, what is late or stuck, what happened today."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import (
    BooleanField,
    Case,
    Count,
    DateTimeField,
    Exists,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    When,
)
from django.utils import timezone

from pipelines.models import (
    ASKS,
    ENDED,
    GateVisit,
    LineEvent,
    Project,
    Status,
    Task,
    Token,
    User,
    overdue_condition,
    tasks_with_display_status,
)
from pipelines.models.plumbing.compiled_queries import array_field, compiled
from pipelines.ports.terms import SHIPPED
from pipelines.queries import versions
from pipelines.queries.failures import FailureReason, failure_reason_by_task, last_words_by_token
from pipelines.queries.home_lines import WORKING, HomeLines, busiest_live_lines
from pipelines.queries.late import late_condition, overrun_since_by_task_id
from pipelines.queries.tasks import WAITING, displayed_status_counts_by_line
from pipelines.queries.unmerged import unmerged_condition
from pipelines.routing.sentences.names import station_name, station_names, target_name
from pipelines.routing.sentences.waits import ProblemAndRemedy, wait_sentence_or_none

MAX_ROWS = 8
NEWEST = 12
DAY = timedelta(hours=24)
NOT_IN_A_STRIP = ("context", "variables", "inputs", "edges", "rules", "rounds")
HEAVY = (*NOT_IN_A_STRIP, "visits")


@dataclass(frozen=True, slots=True)
class RecentEvent:
    """The latest event of a task: where it is, or its `end` by name and the reason. Or the publication of a
    line (`version`, by `who`), shown to its designers."""

    at: datetime
    project: Project
    line: str
    task: Task | None = None
    place: str = ""
    end: str = ""
    reason: FailureReason | None = None
    line_key: str = ""
    version: int = 0
    who: str = ""


@dataclass(frozen=True, slots=True)
class Today:
    """Numbers of the last 24 hours."""

    started: int
    completed: int
    failed: int
    cancelled: int
    newest: Sequence[RecentEvent]


@dataclass(frozen=True, slots=True)
class Home:
    """`open`: how many tasks there are in each status that is shown. `completed`: today."""

    open: Mapping[str, int]
    late: int
    completed: int
    lines: HomeLines
    today: Today

    @property
    def running_count(self) -> int:
        return sum(self.open.get(status, 0) for status in WORKING)

    @property
    def waiting_count(self) -> int:
        return sum(number for _status, number in self.waiting_counts_by_status)

    @property
    def waiting_counts_by_status(self) -> list[tuple[str, int]]:
        """Counts of what waits for people, by status."""
        return [(str(status), self.open[status]) for status in WAITING if status in self.open]


def read_home(projects: Iterable[Project], designed: Collection[int], now: datetime) -> Home:
    """`designed`: ids of the projects of whose lines the reader is a designer."""
    visible_projects = list(projects)
    visible_tasks = Task.objects.filter(project__in=visible_projects)
    midnight = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    ended = Task.objects.filter(
        ~unmerged_condition(), project__in=visible_projects, status=Status.COMPLETED, ended_at__gte=midnight
    )
    by_line = displayed_status_counts_by_line(visible_projects)
    return Home(
        sum(by_line.values(), Counter()),
        visible_tasks.filter(late_condition(visible_tasks, now)).count(),
        ended.count(),
        busiest_live_lines(visible_projects, now, by_line),
        _today_counts(visible_projects, designed, now - DAY),
    )


def _today_counts(visible_projects: Collection[Project], designed: Collection[int], since: datetime) -> Today:
    changed = Task.objects.filter(project__in=visible_projects, changed_at__gte=since)
    ended = {end: Count("pk", filter=Q(status=end, ended_at__gte=since)) for end in ENDED}
    sums = changed.aggregate(started=Count("pk", filter=Q(created_at__gte=since)), **ended)
    unmerged = changed.filter(unmerged_condition(), status=Status.COMPLETED, ended_at__gte=since).count()
    newest = _last_changed_tasks(projects=[project.pk for project in visible_projects], since=since)
    by_id = {project.pk: project for project in visible_projects}
    for task in newest:
        task.project = by_id[task.project_id]
    happened = [*_recent_events_of_tasks(newest), *_publication_events(visible_projects, designed, since)]
    happened.sort(key=lambda happening: happening.at, reverse=True)
    return Today(
        sums["started"],
        # law §12: what completed with a change that was delivered nowhere counts in no figure.
        sums["completed"] - unmerged,
        sums["failed"],
        sums["cancelled"],
        happened[:NEWEST],
    )


@compiled(projects=array_field(), since=DateTimeField())
def _last_changed_tasks(projects: Any, since: Any) -> QuerySet[Task]:
    tasks = tasks_with_display_status(Task.objects.filter(project__among=projects, changed_at__gte=since))
    lines = ("line__draft", "line__draft_text", "line__draft_hands")
    return tasks.select_related("line").defer(*HEAVY, *lines).order_by("-changed_at", "-pk")[:NEWEST]


@compiled(projects=array_field(), since=DateTimeField())
def _published_events(projects: Any, since: Any) -> QuerySet[LineEvent]:
    rows = LineEvent.objects.filter(
        line__project__among=projects,
        kind=LineEvent.RecordKind.PUBLISHED,
        at__gte=since,
        version__isnull=False,
    )
    rows = rows.exclude(version__name=SHIPPED).select_related("line", "version", "by").only(
        "at", "line__name", "line__key", "line__project", "version__number", "by__first_name", "by__last_name",
        "by__username",
    )  # fmt: skip
    return rows.order_by("-at")[:NEWEST]


@compiled(tasks=array_field())
def _living_tokens(tasks: Any) -> QuerySet[Token]:
    living = Token.objects.filter(task__among=tasks, forked=False, ended_at__isnull=True).order_by("pk")
    return living.only("task_id", "station", "status", "wait")


def _recent_events_of_tasks(tasks: Sequence[Task]) -> list[RecentEvent]:
    places = _station_names_by_task([task for task in tasks if task.ended_at is None])
    reasons = ending_reason_by_task(tasks)
    return [
        RecentEvent(
            task.ended_at or task.changed_at, task.project, task.line.name, task,
            places.get(task.pk, ""),
            target_name(versions.parsed_line_by_version_id(task.pinned_id), task.end) if task.end else "",
            reasons.get(task.pk),
        )
        for task in tasks
    ]  # fmt: skip


def ending_reason_by_task(tasks: Iterable[Task]) -> Mapping[int, FailureReason]:
    """Return why tasks failed or were cancelled, by id: the reason that somebody entered, else the last
    report of the station."""
    ended = [task for task in tasks if task.status in (Status.FAILED, Status.CANCELLED)]
    task_reasons = {task.pk: FailureReason(task.reason) for task in ended if task.reason}
    failure_words = failure_reason_by_task(
        task.pk for task in ended if task.status == Status.FAILED and not task.reason
    )
    # What a person entered counts before what a station reported
    return {**{pk: words for pk, words in failure_words.items() if words.text}, **task_reasons}


def _station_names_by_task(tasks: Sequence[Task]) -> Mapping[int, str]:
    """The stations at which open tasks are."""
    living = living_tokens_by_task(tasks)
    return {task.pk: station_names_of_tokens(task, living[task.pk]) for task in tasks if task.pk in living}


def station_names_of_tokens(task: Task, living: Sequence[Token]) -> str:
    return station_names(
        versions.parsed_line_by_version_id(task.pinned_id), dict.fromkeys(token.station for token in living)
    )


def living_tokens_by_task(tasks: Sequence[Task]) -> Mapping[int, list[Token]]:
    """The living positions of tasks, by id; one statement."""
    tokens_by_task: dict[int, list[Token]] = {}
    for token in _living_tokens(tasks=[task.pk for task in tasks]):
        tokens_by_task.setdefault(token.task_id, []).append(token)
    return tokens_by_task


def _publication_events(
    visible_projects: Collection[Project], designed: Collection[int], since: datetime
) -> list[RecentEvent]:
    projects = {project.pk: project for project in visible_projects if project.pk in designed}
    return [
        RecentEvent(
            row.at, projects[row.line.project_id], row.line.name, line_key=row.line.key,
            version=row.version.number if row.version else 0, who=str(row.by or ""),
        )
        for row in _published_events(projects=list(projects), since=since)
    ]  # fmt: skip


def open_tasks_requested_by(
    user: User, projects: Iterable[Project], excluded_ids: Collection[int], now: datetime
) -> list[Task]:
    """Return the open tasks that this person requested, each with `is_late`, one more than MAX_ROWS where there are
    more. `excluded_ids`: of tasks listed elsewhere."""
    tasks = tasks_with_display_status(
        Task.objects.filter(project__in=list(projects), requester=user, ended_at__isnull=True)
    )
    rows = tasks.exclude(pk__in=excluded_ids).select_related("project__owner", "line").defer(*NOT_IN_A_STRIP)
    late = late_condition(Task.objects.filter(requester=user), now)
    is_late = Case(When(late, then=True), default=False, output_field=BooleanField())
    return list(rows.annotate(is_late=is_late).order_by("-created_at")[: MAX_ROWS + 1])


@dataclass(frozen=True, slots=True)
class TroubledPosition:
    """A position that is stuck, blocked or held, or that is late (`due`: since when), with what it waits for."""

    token: Token
    due: datetime | None
    why: ProblemAndRemedy


def troubled_positions(
    projects: Iterable[Project], now: datetime, excluded_ids: Collection[int]
) -> list[TroubledPosition]:
    """Return positions that are stuck, blocked, held or late, the longest first, one more than MAX_ROWS where there are
    more; a question is no trouble. `excluded_ids`: of tasks listed elsewhere."""
    overdue_visits = GateVisit.objects.filter(
        overdue_condition(now), token=OuterRef("pk"), state=GateVisit.State.OPEN
    )
    on_hold = Q(status=Status.HELD) & ~Q(wait__has_key="paused")
    visible_projects = list(projects)
    overrunning = overrun_since_by_task_id(Task.objects.filter(project__in=visible_projects), now)
    at_work_too_long = Q(status=Status.RUNNING, task__in=overrunning)
    overdue = overdue_condition(now, "task__") | Q(Exists(overdue_visits))
    blocked = Q(status=Status.BLOCKED) & ~ASKS
    bad = Q(status=Status.STUCK) | blocked | on_hold | at_work_too_long | overdue
    alive = Token.objects.filter(bad, task__project__in=visible_projects, forked=False).exclude(
        status__in=ENDED
    )
    # Those stand in another panel of the same page
    rows = alive.exclude(task__in=excluded_ids).select_related("task__project__owner", "task__line")
    rows = rows.annotate(gate_due=Subquery(overdue_visits.order_by("due_at").values("due_at")[:1]))
    tokens = list(rows.defer(*(f"task__{name}" for name in HEAVY)).order_by("changed_at")[: MAX_ROWS + 1])
    words = last_words_by_token(tokens)
    return [
        TroubledPosition(
            token,
            min(
                (
                    due
                    for due in (token.gate_due, *_due_times_of_task(token, overrunning))
                    if due and due < now
                ),
                default=None,
            ),
            _cause_of_trouble(token, words.get(token.pk, ""), overrunning),
        )
        for token in tokens
    ]


def _cause_of_trouble(token: Token, summary: str, overrunning: Mapping[int, datetime]) -> ProblemAndRemedy:
    """Return what stops a position, or else why it is late."""
    line = versions.parsed_line_by_version_id(token.task.pinned_id)
    station = station_name(line, token.station)
    if token.status == Status.RUNNING and token.task_id in overrunning:
        return ProblemAndRemedy(f"{station} takes longer than expected.")
    late = ProblemAndRemedy(f"The task was due, and {station} has not ended.")
    return wait_sentence_or_none(token, line, summary) or late


def _due_times_of_task(token: Token, overrunning: Mapping[int, datetime]) -> tuple[datetime | None, ...]:
    at_work = overrunning.get(token.task_id) if token.status == Status.RUNNING else None
    return token.task.running_due_at, at_work
