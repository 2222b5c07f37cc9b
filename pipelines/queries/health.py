"""Health of a project: what is queued, how long work takes, how often it is locked, escalated or refused
(AEEF E28)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Avg, Count, Exists, F, OuterRef, Q, QuerySet

from pipelines.models import Deadlock, Escalation, GateVisit, Line, Project, Status, Task
from pipelines.queries.unmerged import unmerged_condition
from pipelines.routing.analysis.health import (
    DEADLOCKS,
    ESCALATED,
    GATE,
    QUEUE,
    Figure,
    cycle_time_figure,
    share_or_none,
)

WEEK = timedelta(days=7)
"""Deadlocks, and the cycle time of late."""
MONTH = timedelta(days=28)
"""Escalations and gates; and, before that week, the baseline of the cycle time."""


def health_figures(project: Project, now: datetime, line: str = "") -> list[Figure]:
    """Return all figures, in the order of the law; one for each gate that was decided. `line` narrows to one."""
    tasks = Task.objects.filter(project=project)
    # Of visits by their tasks: with a set of tasks, all of the project would be read.
    of = Q(task__project=project)
    if line:
        tasks, of = tasks.filter(line__key=line), of & Q(task__line__key=line)
    return [
        Figure(QUEUE, float(tasks.filter(status=Status.QUEUED).count())),
        cycle_time_figure(
            _mean_cycle_seconds_or_none(tasks, now - WEEK, now),
            _mean_cycle_seconds_or_none(tasks, now - WEEK - MONTH, now - WEEK),
        ),
        Figure(DEADLOCKS, float(_deadlock_count(tasks, now))),
        Figure(ESCALATED, _escalated_share_or_none(tasks, now)),
        *_refusal_figures(of, now),
    ]


def _mean_cycle_seconds_or_none(tasks: QuerySet[Task], since: datetime, until: datetime) -> float | None:
    done = tasks.filter(
        ~unmerged_condition(), status=Status.COMPLETED, ended_at__gt=since, ended_at__lte=until
    )
    took = done.aggregate(took=Avg(F("ended_at") - F("created_at")))["took"]
    return took.total_seconds() if took else None


def _deadlock_count(tasks: QuerySet[Task], now: datetime) -> int:
    return Deadlock.objects.filter(task__in=tasks, found_at__gt=now - WEEK).count()


def _escalated_share_or_none(tasks: QuerySet[Task], now: datetime) -> float | None:
    recent = tasks.filter(created_at__gt=now - MONTH)
    opened = Escalation.objects.filter(task=OuterRef("pk"))
    return share_or_none(recent.filter(Exists(opened)).count(), recent.count())


def _refusal_figures(of: Q, now: datetime) -> list[Figure]:
    """Return the share that people or the clock refused, of all that was decided, for each gate."""
    decided = GateVisit.objects.filter(of, state="decided", decided_at__gt=now - MONTH)
    rows: Any = decided.values("task__line__key", "gate").order_by("task__line__key", "gate")
    counted = rows.annotate(n=Count("pk"), refused=Count("pk", filter=~Q(word="approve")))
    return [
        Figure(GATE, share_or_none(row["refused"], row["n"]), f"{row['task__line__key']} › {row['gate']}")
        for row in counted
    ]


def line_and_gate_names_by_figure(project: Project) -> dict[str, tuple[str, str]]:
    """The names of line and gate, by `Figure.of`: of what is live now."""
    rows = Line.objects.filter(project=project, live__isnull=False).values_list(
        "key", "name", "live__document__gates"
    )
    return {
        f"{key} › {gate['key']}": (name, gate.get("name") or gate["key"])
        for key, name, gates in rows
        for gate in gates or ()
    }
