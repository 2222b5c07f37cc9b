"""What Home says of the projects in view: open tasks, what runs, what is late or stuck, what happened today."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Q, QuerySet

from pipelines.models import (
    DISPLAYED,
    ENDED,
    Event,
    Job,
    LineEvent,
    Project,
    Status,
    Task,
    Token,
    User,
    displayed,
)
from pipelines.queries import versions
from pipelines.queries.failures import LastWords, failures
from pipelines.queries.tasks import counts
from pipelines.routing.sentences.names import station_names
from pipelines.routing.sentences.waits import Sentence, waiting

SHOWN = 8
NEWEST = 12
DAY = timedelta(hours=24)
MOVING = (Status.QUEUED, Status.RUNNING, Status.EVALUATING)
"""What goes on without a person."""
HEAVY = ("context", "variables", "inputs", "visits", "edges", "rules", "rounds")


@dataclass(frozen=True, slots=True)
class Happening:
    """The newest of a task: where it is, or how it ended and why. Or the publication of a line (`version`, by `who`),
    which is told to its designers."""

    at: datetime
    project: Project
    line: str
    task: Task | None = None
    place: str = ""
    reason: LastWords | None = None
    line_key: str = ""
    version: int = 0
    who: str = ""


@dataclass(frozen=True, slots=True)
class Today:
    """Of the last 24 hours. `moves`: from station to station, of all tasks."""

    started: int
    completed: int
    failed: int
    cancelled: int
    moves: int
    newest: Sequence[Happening]


@dataclass(frozen=True, slots=True)
class Home:
    """`open`: (status, word, how many), of the statuses that there are."""

    open: Sequence[tuple[str, str, int]]
    late: int
    running: Sequence[Task]
    today: Today


def home(projects: Iterable[Project], designed: Collection[int], now: datetime) -> Home:
    """`designed`: ids of the projects of whose lines the reader is a designer."""
    seen = list(projects)
    found = counts(seen)
    tasks = (
        displayed(Task.objects.filter(project__in=seen))
        .select_related("project__owner", "line")
        .defer(*HEAVY)
    )
    return Home(
        [(status, str(word), found[status]) for status, word in DISPLAYED if status in found],
        Task.objects.filter(project__in=seen, ended_at__isnull=True, due_at__lt=now).count(),
        list(tasks.filter(display_status__in=MOVING).order_by("-changed_at")[:SHOWN]),
        _today(tasks, seen, designed, now - DAY),
    )


def _today(
    tasks: QuerySet[Task], seen: Collection[Project], designed: Collection[int], since: datetime
) -> Today:
    changed = Task.objects.filter(project__in=seen, changed_at__gte=since)
    ended = {end: Count("pk", filter=Q(status=end, ended_at__gte=since)) for end in ENDED}
    sums = changed.aggregate(started=Count("pk", filter=Q(created_at__gte=since)), **ended)
    moves = Event.objects.filter(task__in=changed, at__gte=since, kind="token.moved").count()
    newest = list(tasks.filter(changed_at__gte=since).order_by("-changed_at", "-pk")[:NEWEST])
    happened = [*_of_tasks(newest), *_publications(seen, designed, since)]
    happened.sort(key=lambda each: each.at, reverse=True)
    return Today(
        sums["started"], sums["completed"], sums["failed"], sums["cancelled"], moves, happened[:NEWEST]
    )


def _of_tasks(tasks: Sequence[Task]) -> list[Happening]:
    places = _places([task for task in tasks if task.ended_at is None])
    reasons = reasons_of(tasks)
    return [
        Happening(
            task.ended_at or task.changed_at, task.project, task.line.name, task,
            places.get(task.pk, ""), reasons.get(task.pk),
        )
        for task in tasks
    ]  # fmt: skip


def reasons_of(tasks: Iterable[Task]) -> Mapping[int, LastWords]:
    """Why tasks failed or were cancelled, by id: the reason that somebody gave, else what the last station said."""
    ended = [task for task in tasks if task.status in (Status.FAILED, Status.CANCELLED)]
    given = {task.pk: LastWords(task.reason) for task in ended if task.reason}
    said = failures(task.pk for task in ended if task.status == Status.FAILED and not task.reason)
    return {**{pk: words for pk, words in said.items() if words.text}, **given}


def _places(tasks: Sequence[Task]) -> Mapping[int, str]:
    """The stations at which open tasks are."""
    living = Token.objects.filter(task__in=tasks, forked=False, ended_at__isnull=True).order_by("pk")
    stations: dict[int, list[str]] = {}
    for task_id, station in living.values_list("task_id", "station"):
        stations.setdefault(task_id, []).append(station)
    return {
        task.pk: station_names(versions.by_id(task.pinned_id), dict.fromkeys(stations[task.pk]))
        for task in tasks
        if task.pk in stations
    }


def _publications(seen: Collection[Project], designed: Collection[int], since: datetime) -> list[Happening]:
    projects = {each.pk: each for each in seen if each.pk in designed}
    rows = LineEvent.objects.filter(
        line__project__in=projects, kind=LineEvent.Kind.PUBLISHED, at__gte=since, version__isnull=False
    )
    rows = rows.select_related("line", "version", "by").only(
        "at", "line__name", "line__key", "line__project", "version__number", "by__first_name", "by__last_name",
        "by__username",
    )  # fmt: skip
    return [
        Happening(
            row.at, projects[row.line.project_id], row.line.name, line_key=row.line.key,
            version=row.version.number if row.version else 0, who=str(row.by or ""),
        )
        for row in rows.order_by("-at")[:NEWEST]
    ]  # fmt: skip


def requested(user: User, projects: Iterable[Project], but: Collection[int]) -> list[Task]:
    """Open tasks of this person, without those that are listed elsewhere (`but`: ids)."""
    tasks = displayed(Task.objects.filter(project__in=list(projects), requester=user, ended_at__isnull=True))
    rows = tasks.exclude(pk__in=but).select_related("project__owner", "line").defer(*HEAVY)
    return list(rows.order_by("-created_at")[:SHOWN])


@dataclass(frozen=True, slots=True)
class Trouble:
    """A position that is stuck or held, or whose task is late, with what it waits for."""

    token: Token
    late: bool
    why: Sentence | None


def troubled(projects: Iterable[Project], now: datetime, but: Collection[int]) -> list[Trouble]:
    """The longest first, without tasks that are listed elsewhere (`but`: ids)."""
    bad = Q(status__in=(Status.STUCK, Status.HELD)) | Q(task__due_at__lt=now)
    alive = Token.objects.filter(bad, task__project__in=list(projects), forked=False).exclude(
        status__in=ENDED
    )
    rows = alive.exclude(task__in=but).select_related("task__project__owner", "task__line")
    tokens = list(rows.defer(*(f"task__{name}" for name in HEAVY)).order_by("changed_at")[:SHOWN])
    said = dict(
        Job.objects.filter(token__in=tokens)
        .order_by("token_id", "-pk")
        .distinct("token_id")
        .values_list("token_id", "summary")
    )
    return [
        Trouble(
            token,
            token.task.due_at is not None and token.task.due_at < now,
            waiting(token, versions.by_id(token.task.pinned_id), said.get(token.pk, "")),
        )
        for token in tokens
    ]
