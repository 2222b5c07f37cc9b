"""Invariants of what never changes once written: I13, I14, I15."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from django.db.models import Exists, F, Func, IntegerField, OuterRef, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast

from pipelines.engine.statements import UNGUARDED_TABLES, VERSION_ROWS
from pipelines.models import (
    Comment,
    Deadlock,
    Decision,
    Dependency,
    Due,
    Escalation,
    Event,
    GateVisit,
    Handoff,
    Job,
    LineVersion,
    MigrationEntry,
    Retention,
    Task,
    Token,
    Tombstone,
    Trigger,
    TriggerDelivery,
)
from pipelines.models.plumbing.compiled_queries import fetch_prepared, server_prepared
from pipelines.models.retention import DIGEST_BYTES
from pipelines.ports.observers import Violation
from pipelines.routing.document.line import canonical_digest, read_line

Ids = Sequence[int] | None
_TEXT: TextField[str, str] = TextField()


def cross_project_key_violations(task_ids: Ids) -> Iterable[Violation]:
    """I13: no foreign key leads across projects (nor, below a task, across tasks)."""
    for what, model, pk in fetch_prepared(
        *(
            _crossings_sql_and_values_over_all_tasks()
            if task_ids is None
            else _crossings_sql_and_values(task_ids)
        )
    ):
        yield Violation("I13", f"{model} {pk}", what)


@cache
def _crossings_sql_and_values_over_all_tasks() -> tuple[str, tuple[Any, ...]]:
    """Return the statement over all tasks. It is always the same, and costly to build."""
    return _crossings_sql_and_values(None)


def _crossings_sql_and_values(task_ids: Ids) -> tuple[str, tuple[Any, ...]]:
    """Build all checks as one statement: there are many kinds and, if all is well, no row."""
    tasks, jobs, visits, decisions, entries = (
        _rows_of_tasks(model, name, task_ids)
        for model, name in (
            (Task, "pk"),
            (Job, "task"),
            (GateVisit, "task"),
            (Decision, "task"),
            (MigrationEntry, "task"),
        )
    )
    escalated, handoffs, dues, depends, deliveries = (
        _rows_of_tasks(model, "task", task_ids)
        for model in (Escalation, Handoff, Due, Dependency, TriggerDelivery)
    )
    parties = _rows_of_tasks(Deadlock.tasks.through, "task", task_ids)
    answers = Comment.objects.filter(parent__isnull=False) if task_ids is None else Comment.objects.none()
    sources = Trigger.objects.filter(source__isnull=False) if task_ids is None else Trigger.objects.none()
    crossings: tuple[tuple[str, QuerySet[Any]], ...] = (
        ("line of another project", tasks.exclude(line__project=F("project"))),
        (
            "follows a task of another project",
            tasks.filter(follows__isnull=False).exclude(follows__project=F("project")),
        ),
        (
            "retries a visit of another task than it follows",
            tasks.filter(retry_of__isnull=False).exclude(retry_of__task=F("follows")),
        ),
        (
            "forked from a moment that the task which it follows does not have",
            tasks.filter(fork_event__isnull=False)
            .exclude(follows__retention=Retention.TOMBSTONE)
            .exclude(Exists(Event.objects.filter(task=OuterRef("follows"), seq=OuterRef("fork_event")))),
        ),
        ("version of another line", tasks.exclude(pinned__line=F("line"))),
        ("job with the token of another task", jobs.exclude(token__task=F("task"))),
        ("job under the version of another line", jobs.exclude(pinned__line=F("task__line"))),
        ("gate visit with the job of another task", visits.exclude(job__task=F("task"))),
        ("gate visit with the token of another task", visits.exclude(token__task=F("task"))),
        ("gate visit asked by a decision of another task", visits.exclude(asked_by__task=F("task"))),
        ("decision under the version of another line", decisions.exclude(pinned__line=F("task__line"))),
        ("escalation at the token of another task", _rows_pointing_to_other_tasks(escalated, "token")),
        ("escalation of the review of another task", _rows_pointing_to_other_tasks(escalated, "visit")),
        ("handoff of the job of another task", _rows_pointing_to_other_tasks(handoffs, "job")),
        ("handoff to the job of another task", _rows_pointing_to_other_tasks(handoffs, "to")),
        *(
            (f"due time of the {name} of another task", _rows_pointing_to_other_tasks(dues, name))
            for name in DUE_OF
        ),
        ("depends on a task of another project", depends.exclude(on__project=F("task__project"))),
        (
            "party to a deadlock of another project",
            parties.exclude(task__project=F("deadlock__task__project")),
        ),
        ("migration of a task of another line", entries.exclude(migration__line=F("task__line"))),
        ("migration to a version of another line", entries.exclude(to__line=F("task__line"))),
        (
            "delivery of a trigger of another line",
            deliveries.filter(task__isnull=False).exclude(task__line=F("trigger__line")),
        ),
        (
            "trigger that waits for a line of another project",
            sources.exclude(source__project=F("line__project")),
        ),
        ("answer on another line than its thread", answers.exclude(parent__line=F("line"))),
        (
            "answer at another place than its thread",
            answers.exclude(parent__kind=F("kind"), parent__key=F("key")),
        ),
        ("answer to an answer", answers.filter(parent__parent__isnull=False)),
    )
    querysets = [_kind_model_and_key_rows(what, rows) for what, rows in crossings]
    # UNION ALL: no two of these find the same, so nothing has to be sorted.
    return querysets[0].union(*querysets[1:], all=True).query.sql_with_params()


def _kind_model_and_key_rows(what: str, rows: QuerySet[Any]) -> QuerySet[Any, tuple[str, str, str]]:
    model = rows.model._meta.model_name
    return rows.order_by().values_list(Value(what, _TEXT), Value(model, _TEXT), Cast("pk", _TEXT))


DUE_OF = ("token", "job", "visit")


def _rows_pointing_to_other_tasks(rows: QuerySet[Any], name: str) -> QuerySet[Any]:
    """Return the rows whose `name` belongs to another task, of those that have one at all."""
    return rows.filter(**{f"{name}__isnull": False}).exclude(**{f"{name}__task": F("task")})


def _rows_of_tasks(model: Any, name: str, task_ids: Ids) -> QuerySet[Any]:
    rows = model._default_manager.all()
    return rows if task_ids is None else rows.filter(**{f"{name}__in": task_ids})


def changed_version_violations(task_ids: Ids) -> Iterable[Violation]:
    """I14: published versions unchanged: document and hash, and the rows written for them."""
    versions_by_id = {version.pk: version for version in _pinned_versions(task_ids)}
    rows = _stored_line_rows_by_version([*versions_by_id])
    for pk, version in versions_by_id.items():
        if canonical_digest(version.document) != version.digest:
            yield Violation("I14", f"version {pk}", "its document is not the one that was published")
        elif rows[pk] != _line_rows_expected_of_document(version):
            yield Violation("I14", f"version {pk}", "its rows are not those of its document")


@server_prepared()
def _every_version() -> QuerySet[LineVersion]:
    return LineVersion.objects.order_by("pk")


def _pinned_versions(task_ids: Ids) -> Iterable[LineVersion]:
    if task_ids is None:
        return _every_version()
    return LineVersion.objects.filter(tasks__in=task_ids).order_by("pk").distinct()


Rows = dict[str, list[tuple[str, str]]]


def _stored_line_rows_by_version(versions: list[int]) -> dict[int, Rows]:
    """Return, for each of these versions, what was written for its document, in order: one statement for all."""
    rows_by_version: dict[int, Rows] = {pk: {"station": [], "rule": [], "gate": []} for pk in versions}
    for version, what, first, second, *_ in fetch_prepared(VERSION_ROWS, {"of": versions}):
        rows_by_version[version][what].append((first, second))
    return rows_by_version


def _line_rows_expected_of_document(version: LineVersion) -> Rows:
    line = read_line(version.document, revision=version.revision)
    return {
        "station": [(station.key, station.kind) for station in line.stations],
        "rule": [(station.key, rule.id) for station in line.stations for rule in station.rules],
        "gate": [(gate.key, gate.mode) for gate in line.gates],
    }


GUARDED = ("event", "decision", "vote", "lineversion", "versionstation", "versionrule", "versiongate")


def append_only_guard_violations(task_ids: Ids) -> Iterable[Violation]:
    """I15: every append-only table has its guard against update and delete, and it is enabled. (Tampering that
    went around it shows as I2, I3 or I9.)"""
    for (name,) in fetch_prepared(UNGUARDED_TABLES, [list(GUARDED)]):
        yield Violation("I15", f"table {name}", "its guard against update and delete is missing or disabled")


def purge_remnant_violations(task_ids: Ids) -> Iterable[Violation]:
    """I21: a purged task has ended, has a digest of each of its events, and nothing else of its record."""
    purged = _rows_of_tasks(Task, "pk", task_ids).filter(retention=Retention.TOMBSTONE)
    left = Exists(Event.objects.filter(task=OuterRef("pk"))) | Exists(
        Token.objects.filter(task=OuterRef("pk"))
    )
    for pk in purged.filter(left).values_list("pk", flat=True):
        yield Violation("I21", f"task {pk}", "is purged and has events or positions still")
    for pk in purged.filter(tombstone=None).values_list("pk", flat=True):
        yield Violation("I21", f"task {pk}", "is purged without a tombstone")
    size = Func("digests", function="octet_length", output_field=IntegerField())
    wrong = ~Q(size=F("task__seq") * DIGEST_BYTES) | ~Q(task__retention=Retention.TOMBSTONE)
    tombstones = _rows_of_tasks(Tombstone, "task", task_ids).annotate(size=size).filter(wrong)
    for pk in tombstones.values_list("pk", flat=True):
        yield Violation("I21", f"task {pk}", "has a tombstone that does not fit the number of its events")
