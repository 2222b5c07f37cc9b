"""Retention of a project: what tasks that ended long ago leave is deleted, a batch at a time; a tombstone stays."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import groupby
from typing import Any

from django.apps import apps
from django.db import transaction
from django.db.models import SET_NULL, Field, ForeignKey, Model, UniqueConstraint

from pipelines.engine.commands.event_export import export_events_of_loaded_tasks
from pipelines.engine.statements import (
    ALLOW_PURGE,
    DELETE_ROWS,
    LOCK_EXPIRED_FILES,
    LOCK_EXPIRED_RECORDS,
    REFUSE_PURGE,
    STILL_NEEDED,
)
from pipelines.models import (
    ApiToken,
    Artifact,
    BulkEntry,
    Delivery,
    HookReceipt,
    HostLink,
    KeptReceipt,
    LogChunk,
    MigrationEntry,
    Retention,
    RunnerUpload,
    Snapshot,
    Task,
    TaskText,
    Tombstone,
    TriggerDelivery,
    VisitCommit,
)
from pipelines.models.plumbing.compiled_queries import execute, fetch
from pipelines.queries.receipts import landed_change_or_none
from pipelines.routing.basics.canonical import canonical_json

STAYS = (
    *(Task, TaskText, Tombstone, KeptReceipt, MigrationEntry, BulkEntry, HostLink, HookReceipt),
    *(TriggerDelivery, ApiToken),
)
"""What names a task and stays: an issue that started one starts no second one, what moved many tells of each."""
TITLE = "Purged by the retention of the project"


@dataclass(frozen=True, slots=True)
class PurgedTasks:
    """`digests`: of the bytes that the tasks used, and others perhaps, too."""

    tasks: int
    digests: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _RowsOfTasks:
    """Rows that belong to tasks: their `column` names a row of `parent`."""

    model: type[Model]
    column: Field[Any, Any]
    parent: type[Model]


def purge_records(now: datetime, limit: int) -> PurgedTasks:
    """Purge the tasks of all projects whose record is kept no longer, the longest ended first: their rows go, receipts
    and a digest of each event stay. One transaction."""
    with transaction.atomic():
        locked = [pk for (pk,) in fetch(LOCK_EXPIRED_RECORDS, {"now": now, "most": limit})]
        needed = {pk for (pk,) in fetch(STILL_NEEDED, [locked])} if locked else set()
        tasks = list(
            Task.objects.select_related("project__owner").filter(pk__in=set(locked) - needed).order_by("pk")
        )
        ids = [task.pk for task in tasks]
        digests = _stored_digests(ids) | frozenset(
            VisitCommit.objects.filter(task__in=ids, pack__isnull=False).values_list("pack_id", flat=True)
        )
        Tombstone.objects.bulk_create(_unsaved_tombstones(tasks))
        KeptReceipt.objects.bulk_create(_kept_receipts(tasks))
        execute(ALLOW_PURGE)
        _reduce_tasks_to_tombstones(ids, now)
        _delete_rows(ids)
        execute(REFUSE_PURGE)
    return PurgedTasks(len(ids), digests)


def purge_files(now: datetime, limit: int) -> PurgedTasks:
    """Delete logs, artifacts and snapshots of the tasks of all projects whose files are kept no longer."""
    with transaction.atomic():
        ids = [pk for (pk,) in fetch(LOCK_EXPIRED_FILES, {"now": now, "most": limit})]
        digests = _stored_digests(ids)
        for rows in (
            LogChunk.objects.filter(job__token__task__in=ids),
            RunnerUpload.objects.filter(job__token__task__in=ids),
            Artifact.objects.filter(task__in=ids),
            Snapshot.objects.filter(task__in=ids),
        ):
            rows.delete()
        Task.objects.filter(pk__in=ids).update(retention=Retention.RECORD, purged_at=now)
    return PurgedTasks(len(ids), digests)


def _stored_digests(ids: Sequence[int]) -> frozenset[str]:
    uploads = RunnerUpload.objects.filter(job__token__task__in=ids).values_list("blob_id", flat=True)
    manifests = Snapshot.objects.filter(task__in=ids).values_list("manifest", flat=True)
    return frozenset(
        {
            *uploads,
            *Artifact.objects.filter(task__in=ids).values_list("blob_id", flat=True),
            # One at a time: each may name 100,000 files
            *(
                entry["digest"]
                for manifest in manifests.iterator(chunk_size=1)
                for entry in manifest
                if "digest" in entry
            ),
        }
    )


def _unsaved_tombstones(tasks: Sequence[Task]) -> Iterator[Tombstone]:
    in_order = sorted(tasks, key=lambda task: (task.project_id, task.pk))
    # Of one project at a time: in another one a task may have the same name
    for _project, of_project in groupby(in_order, key=lambda task: task.project_id):
        project_tasks = list(of_project)
        digests: defaultdict[str, bytes] = defaultdict(bytes)
        for event in export_events_of_loaded_tasks(project_tasks):
            digests[event["work_item_id"]] += hashlib.sha256(canonical_json(event)).digest()
        for task in project_tasks:
            days = task.project.record_days or 0
            yield Tombstone(task=task, days=days, digests=digests[task.name])


def _kept_receipts(tasks: Sequence[Task]) -> Iterator[KeptReceipt]:
    by_id = {task.pk: task for task in tasks}
    landed = Delivery.objects.filter(task__in=by_id, landed_at__isnull=False)
    for job, task, at in landed.values_list("job_id", "task_id", "landed_at"):
        change = landed_change_or_none(by_id[task], job)
        assert change is not None and at is not None
        yield KeptReceipt(
            job_id=job, task_id=task, commit=change.commit, landed_at=at, statement=change.statement()
        )


def _reduce_tasks_to_tombstones(ids: Sequence[int], now: datetime) -> None:
    """Leave of the task what a tombstone says: number, line, version, outcome, times and counters."""
    Task.objects.filter(pk__in=ids).update(
        retention=Retention.TOMBSTONE,
        purged_at=now,
        title=TITLE,
        description="",
        requester=None,
        requested_by="",
        requesters=[],
        labels=[],
        limit_key="",
        inputs={},
        context={},
        variables={},
        unreadable={},
        reason="",
        retry_of=None,
    )


def _delete_rows(ids: Sequence[int]) -> None:
    """Delete what belongs to these tasks. What names a row goes before it."""
    # Tokens of runners that were started for one job: what they did goes on to name nobody
    ApiToken.objects.filter(only_job__token__task__in=ids).delete()
    keys: dict[type[Model], list[object]] = {Task: list(ids)}
    parents = {rows.parent for rows in tables_with_rows_of_tasks()}
    for rows in tables_with_rows_of_tasks():
        if rows.model in parents:
            of_parent = rows.model._default_manager.filter(**{f"{rows.column.name}__in": keys[rows.parent]})
            keys[rows.model] = [*keys.get(rows.model, ()), *of_parent.values_list("pk", flat=True)]
    for rows in reversed(tables_with_rows_of_tasks()):
        table, column = rows.model._meta.db_table, rows.column.column
        execute(DELETE_ROWS.format(table=table, column=column), [keys[rows.parent]])


@cache
def tables_with_rows_of_tasks() -> tuple[_RowsOfTasks, ...]:
    """Return where rows that belong to tasks are found, each by an index: by their task, else by what belongs to it."""
    ways: list[_RowsOfTasks] = []
    parents: list[type[Model]] = [Task]
    for parent in parents:
        for model in apps.get_models(include_auto_created=True):
            columns = [field for field in model._meta.fields if _is_reference_to(field, parent)]
            is_known = any(rows.model is model for rows in ways)
            # Rows between two tables name both, and each of the two can be another task's.
            if model not in STAYS and columns and (not is_known or model._meta.auto_created):
                ways += [_RowsOfTasks(model, column, parent) for column in columns]
                parents += [model] if model not in parents else []
    return tuple(ways)


def _is_reference_to(field: Field[Any, Any], parent: type[Model]) -> bool:
    return (
        isinstance(field, ForeignKey)
        and field.related_model is parent
        and field.model is not parent
        and field.remote_field.on_delete is not SET_NULL
        and (_has_own_index(field) or field.name in _columns_that_begin_an_index(field.model))
    )


def _has_own_index(field: Field[Any, Any]) -> bool:
    return bool(vars(field)["db_index"] or field.unique)


def _columns_that_begin_an_index(model: type[Model]) -> set[str]:
    constraints = [one for one in model._meta.constraints if isinstance(one, UniqueConstraint)]
    return {
        index.fields[0]
        for index in (*model._meta.indexes, *constraints)
        if index.fields and index.condition is None
    }
