"""Tasks that completed although their line delivers and their change was delivered nowhere."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from pipelines.models import Delivery, Status, Task, VersionStation, VisitCommit
from pipelines.models.plumbing.compiled_queries import array_field, server_prepared
from pipelines.queries import versions
from pipelines.routing.document.kinds.deliver import KIND as DELIVER


def unmerged_condition() -> Q:
    """Return the condition `UNMERGED` on a `Task`; it says nothing of tasks that are not completed."""
    others = VisitCommit.objects.filter(task=OuterRef("task"))
    landed = Delivery.objects.filter(task=OuterRef("task"), landed_at__isnull=False, job__gte=OuterRef("job"))
    last = VisitCommit.objects.filter(
        ~Q(before={}),
        ~Exists(others.filter(job__gt=OuterRef("job"))),
        ~Exists(landed),
        task=OuterRef("pk"),
    )
    delivers = VersionStation.objects.filter(version=OuterRef("pinned"), kind=DELIVER.key)
    return Q(Exists(delivers)) & Q(Exists(last))


def unmerged_among(tasks: Collection[Task]) -> set[int]:
    """Return the ids of those that completed with an unmerged change, by one statement."""
    completed = [task.pk for task in tasks if task.status == Status.COMPLETED]
    return set(_unmerged_task_ids(tasks=completed)) if completed else set()


def has_unmerged_change(task: Task) -> bool:
    """True of one that completed with an unmerged change; nothing is asked where its line delivers nothing."""
    delivers = any(
        station.kind == DELIVER.key for station in versions.parsed_line_by_version_id(task.pinned_id).stations
    )
    return delivers and bool(unmerged_among([task]))


@server_prepared(tasks=array_field())
def _unmerged_task_ids(tasks: Any) -> QuerySet[Task, int]:
    rows = Task.objects.filter(unmerged_condition(), pk__among=tasks, status=Status.COMPLETED)
    return rows.order_by("pk").values_list("pk", flat=True)
