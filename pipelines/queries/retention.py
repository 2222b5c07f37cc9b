"""Retention of a project: what it would purge, and what is said of what it has purged."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.db.models import Count, Q
from django.utils import timezone
from django.utils.formats import date_format

from pipelines.errors import Purged
from pipelines.formats.receipts import STATEMENT_TYPE
from pipelines.models import Project, Retention, Task
from pipelines.routing.basics.canonical import canonical_json

PREDICATE_TYPE: Final = "urn:gateline:tombstone:1"


@dataclass(frozen=True, slots=True)
class RetentionPreview:
    """Tasks that ended so long ago that a retention applies to them now. None: it keeps them for ever."""

    files: int | None
    records: int | None


def purged_sentence(task: Task) -> str:
    return f"{task.name} was purged on {_purge_day(task)} by the retention of the project."


def deleted_files_sentence(task: Task) -> str:
    return (
        f"Logs and files of {task.name} were deleted on {_purge_day(task)} by the retention of the project."
    )


def refuse_purged(task: Task) -> None:
    """Raises Purged where nothing but a tombstone is left."""
    if task.is_purged:
        raise Purged(purged_sentence(task))


def refuse_deleted_files(task: Task) -> None:
    """Raises Purged where logs and files are deleted."""
    if task.retention != Retention.ALL:
        raise Purged(purged_sentence(task) if task.is_purged else deleted_files_sentence(task))


def preview_retention(
    project: Project, file_days: int | None, record_days: int | None, now: datetime
) -> RetentionPreview:
    """Count the tasks from which these retentions would delete something now, by one statement. Those that later work
    needs stay longer."""
    rows = Task.objects.filter(project=project, ended_at__isnull=False, retention__lt=Retention.TOMBSTONE)
    counts = rows.aggregate(
        files=Count("pk", filter=_ended_before(now, file_days) & Q(retention=Retention.ALL)),
        records=Count("pk", filter=_ended_before(now, record_days)),
    )
    return RetentionPreview(
        None if file_days is None else counts["files"], None if record_days is None else counts["records"]
    )


def purged_tasks_that_ended(line_ids: list[int], since: datetime, until: datetime) -> int:
    """Count the tasks of these lines that ended in a period and of which only tombstones are left."""
    ended = Task.objects.filter(line__in=line_ids, ended_at__gte=since, ended_at__lt=until)
    return ended.filter(retention=Retention.TOMBSTONE).count()


def tombstone_statement(task: Task) -> dict[str, Any]:
    """Return the statement of the tombstone of a purged task, to be signed as a receipt is: its outcome, and digests by
    which its exported events and its receipts are recognised."""
    tombstone = task.tombstone
    receipts = task.kept_receipts.order_by("landed_at", "pk").values_list("commit", "statement")
    return {
        "_type": STATEMENT_TYPE,
        "subject": [
            {"name": task.name, "digest": {"sha256": hashlib.sha256(bytes(tombstone.digests)).hexdigest()}}
        ],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "project": str(task.project),
            "task": task.name,
            "line": task.line.key,
            "version": task.pinned.number,
            "status": task.status,
            "end": task.end,
            "started": _utc_text(task.created_at),
            "ended": _utc_text(task.ended_at),
            "purged": _utc_text(task.purged_at),
            "days": tombstone.days,
            "events": tombstone.event_digests,
            "receipts": [
                {"commit": commit, "sha256": hashlib.sha256(canonical_json(statement)).hexdigest()}
                for commit, statement in receipts
            ],
        },
    }


def _ended_before(now: datetime, days: int | None) -> Q:
    # No key is NULL, so that this is true of no row
    return Q(pk=None) if days is None else Q(ended_at__lt=now - timedelta(days=days))


def _purge_day(task: Task) -> str:
    return date_format(timezone.localtime(task.purged_at), "j M Y") if task.purged_at else "an unknown day"


def _utc_text(at: datetime | None) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z") if at else ""
