"""Late tasks: past a due time, or at work for longer than their station expects."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from pipelines.models import GateVisit, Job, Purpose, Task, overdue_condition
from pipelines.queries import versions


def late_condition(tasks: QuerySet[Task], now: datetime) -> Q:
    """Return the condition of open tasks that are late. `tasks`: among which they are."""
    overdue_visits = GateVisit.objects.filter(overdue_condition(Now()), state=GateVisit.State.OPEN).order_by()
    passed = Task.objects.filter(overdue_condition(Now()), ended_at__isnull=True).order_by()
    # Each part by an index of what has a due time; with OR every open task is read.
    overrunning = Task.objects.filter(pk__in=overrun_since_by_task_id(tasks, now)).order_by()
    parts = passed.values("pk").union(overdue_visits.values("task"), overrunning.values("pk"), all=True)
    return Q(ended_at__isnull=True, pk__in=parts)


@dataclass(frozen=True, slots=True)
class OverrunningJob:
    """Work of a station that takes longer than expected. `due`: when it should have ended; `expected`: seconds."""

    job: int
    token: int
    task: int
    kind: str
    due: datetime
    expected: float


def overrun_since_by_task_id(tasks: QuerySet[Task], now: datetime) -> dict[int, datetime]:
    """Return the tasks with work that takes longer than is expected of its station, by id, each with the instant at
    which it should have ended."""
    overrunning: dict[int, datetime] = {}
    for job in overrunning_jobs(tasks, now):
        overrunning[job.task] = min(job.due, overrunning.get(job.task, job.due))
    return overrunning


def overrunning_jobs(tasks: QuerySet[Task], now: datetime) -> list[OverrunningJob]:
    """Return the work of open tasks that takes longer than is expected of its station."""
    open_tasks = tasks.filter(ended_at__isnull=True).order_by()
    expected = {
        (version, key): seconds for version, key, seconds in expected_seconds_of_running_stations(open_tasks)
    }
    if not expected:
        return []
    running = Job.objects.filter(
        state=Job.State.RUNNING,
        purpose=Purpose.STATION,
        station__in={key for _version, key in expected},
        task__in=open_tasks.values("pk"),
        started_at__isnull=False,
    )
    columns = ("pk", "token", "task", "kind", "started_at", "task__pinned", "station")
    jobs = [
        OverrunningJob(pk, token, task, kind, started_at + timedelta(seconds=seconds), seconds)
        for pk, token, task, kind, started_at, version, key in running.values_list(*columns)
        if started_at is not None and (seconds := expected.get((version, key)))
    ]
    return [job for job in jobs if job.due < now]


def expected_seconds_of_running_stations(open_tasks: QuerySet[Task]) -> list[tuple[int, str, float]]:
    """Return (version, station, seconds) for each station that expects a time, of versions in which a job runs: no
    other position is late by it."""
    running = open_tasks.filter(jobs__state=Job.State.RUNNING)
    return [
        (version, station.key, station.limits.expected)
        for version in running.order_by().values_list("pinned_id", flat=True).distinct()
        for station in versions.parsed_line_by_version_id(version).stations
        if station.limits.expected
    ]
