"""Migrating and undoing, as operations: who may, what was confirmed, what became of each task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from pipelines import access, engine
from pipelines.engine import MigrateResult
from pipelines.engine.core import payload
from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.lines.line_migration.impact import Impact, migration_impact_of
from pipelines.models import Line, LineVersion, Migration, MigrationEntry, User
from pipelines.ports import clock
from pipelines.queries import versions
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.document.line import ParsedLine, Problem
from pipelines.work.handlers.code import untrusted_code

REASON = 2_000
Result = MigrationEntry.Result


class StaleImpact(Conflict):
    says = "The running tasks changed after this impact was shown. View it again."


def migrate_line(
    line: Line,
    *,
    user: User,
    to: LineVersion,
    digest: str,
    reason: str,
    mapping: Mapping[str, str] | None = None,
    tasks: Sequence[int] | None = None,
) -> Migration:
    """Migrate every running task of the line, or those with these numbers, as the impact with this digest said.

    Nothing moves unless all of it can: raises Forbidden (designer; `execute` where stations run code that the tasks'
    versions do not), Invalid (paths `to`, `reason`, `mapping.<station>`, `tasks`), StaleImpact, Conflict (another
    migration of this line is under way)."""
    access.require_permission(user, "publish", line.project)
    _check_reason(reason)
    with transaction.atomic():
        _lock_idle_line(line)
        # Anew: tasks may have moved since the impact was shown.
        impact = migration_impact_of(line, to, mapping, tasks)
        if impact.digest != digest:
            raise StaleImpact
        _check_impact(impact, user)
        # The record is there before any task moves, so that `resume_unfinished_migration` can go on after a crash.
        made = _record_migration(impact, user, reason)
    return finish_migration(made)


def finish_migration(migration: Migration) -> Migration:
    """Do the remaining tasks of a migration or an undo, also after a crash. Idempotent."""
    if migration.finished_at:
        return migration
    # In one order with every other migration, so that two do not wait for each other
    left = list(migration.entries.filter(result=Result.PLANNED).order_by("pk"))
    actor = engine.Actor.person(migration.by) if migration.by else engine.ENGINE
    if migration.undoes_id:
        undone = dict(migration.undoes.entries.values_list("task_id", "pk")) if migration.undoes else {}
        backs = [engine.MigrationUndo(entry.task_id, undone[entry.task_id], entry.pk) for entry in left]
        results = engine.undo_migration_of_tasks(backs, actor)
    else:
        members = [
            engine.TaskMigration(entry.task_id, entry.to_id, migration.mapping, entry.expected, entry.pk)
            for entry in left
        ]
        results = engine.migrate(members, actor)
    _write_errors(left, results)
    migration.finished_at = clock.now()
    migration.save(update_fields=["finished_at"])
    return migration


def undo_migration(migration: Migration, *, user: User, reason: str) -> Migration:
    """Put every task back that has not moved since; the record says which could not. Raises Forbidden, Invalid (path
    `reason`), Conflict (undone already, an undo itself, not finished)."""
    line = migration.line
    access.require_permission(user, "publish", line.project)
    _check_reason(reason)
    with transaction.atomic():
        _lock_idle_line(line)
        _check_undo(migration)
        entries = list(
            migration.entries.filter(result=Result.MIGRATED).select_related("was", "to").order_by("pk")
        )
        # The way back may bring stations that run other code, too.
        for was in {entry.was for entry in entries}:
            _require_execute_for_other_code(user, line, was, {entry.to for entry in entries})
        made = Migration.objects.create(
            line=line,
            undoes=migration,
            reason=reason.strip(),
            digest=migration.digest,
            by=user,
            at=clock.now(),
        )
        MigrationEntry.objects.bulk_create(
            MigrationEntry(migration=made, task_id=entry.task_id, was=entry.to, to=entry.was)
            for entry in entries
        )
    return finish_migration(made)


def migrations_newest_first(line: Line) -> QuerySet[Migration]:
    """Newest first."""
    rows = Migration.objects.filter(line=line).select_related("to", "by", "undone_by")
    return rows.defer("to__document").order_by("-at", "-pk")


def task_count_by_result(migration: Migration) -> dict[str, int]:
    """{result: tasks}"""
    return dict(Counter(migration.entries.values_list("result", flat=True)))


def _check_undo(migration: Migration) -> None:
    before = Migration.objects.filter(undoes=migration).select_related("by").first()
    if before:
        raise Conflict("This migration is already undone.", by=str(before.by or ""), at=before.at)
    if migration.undoes_id:
        raise Conflict("An undo cannot be undone. Migrate the tasks again.")


def _check_reason(reason: str) -> None:
    payload.checked_text(reason, "reason", REASON)
    if not reason.strip():
        raise Invalid.at("reason", "is missing or blank", "Enter a reason. It is kept with the migration.")


def _lock_idle_line(line: Line) -> None:
    """Publishing locks the line, too. Raises Conflict, as `check_no_migration_under_way`."""
    Line.objects.select_for_update(of=("self",)).get(pk=line.pk)
    check_no_migration_under_way(line)


def check_no_migration_under_way(line: Line) -> None:
    """Raises Conflict where a migration is under way, or was cut short."""
    running = Migration.objects.filter(line=line, finished_at=None).select_related("by").first()
    if running:
        raise Conflict(
            f"Another migration of this line is not finished: {running.pk}. If it was cut short, continue it.",
            by=str(running.by or ""),
            at=running.at,
        )


def _check_impact(impact: Impact, user: User) -> None:
    to = impact.to
    if to is None or to.line_id != impact.line.pk:
        raise Invalid.at("to", "is not a published version of this line", "Publish the draft first.")
    if impact.unmapped_stations:
        raise Invalid(
            Problem(
                f"mapping.{key}",
                singular_or_plural(
                    "the station does not exist in version %(version)s; %(n)s task is there",
                    "the station does not exist in version %(version)s; %(n)s tasks are there",
                    n,
                )
                % {"version": to.number, "n": n},
                "Choose the station where they continue.",
            )
            for key, n in impact.unmapped_stations.items()
        )
    if not impact.tasks:
        raise Conflict(f"No running task is left to migrate to version {to.number}.")
    _require_execute_for_other_code(
        user, impact.line, to, {task_impact.task.pinned for task_impact in impact.tasks}
    )


def _require_execute_for_other_code(user: User, of: Line, to: LineVersion, froms: set[LineVersion]) -> None:
    """Stations that run other code than before need the permission `execute`, as publishing them does (house §5)."""
    line, before = versions.parsed_version(to), [versions.parsed_version(version) for version in froms]
    fresh = [
        station.key
        for station in line.stations
        for known in before
        # Against each version that tasks come from: what one has may be new to another.
        if any(
            code not in _executed_code_at_station(known, station.key)
            for code in untrusted_code(line, station)
        )
    ]
    if fresh and not access.is_permitted(user, "execute", of.project):
        names = ", ".join(dict.fromkeys(fresh))
        raise Forbidden(
            f"Stations that run code or use secrets ({names}) need the permission “execute”, "
            "which you do not have."
        )


def _executed_code_at_station(line: ParsedLine, key: str) -> list[Any]:
    return untrusted_code(line, line.station(key)) if key in line.stations_by_key else []


def _record_migration(impact: Impact, user: User, reason: str) -> Migration:
    made = Migration.objects.create(
        line=impact.line,
        to=impact.to,
        mapping=dict(impact.mapping),
        reason=reason.strip(),
        digest=impact.digest,
        by=user,
        at=clock.now(),
    )
    MigrationEntry.objects.bulk_create(
        MigrationEntry(
            migration=made,
            task=task_impact.task,
            was=task_impact.task.pinned,
            to=made.to,
            expected=task_impact.planned.effects_as_dicts(),
        )
        for task_impact in impact.tasks
    )
    return made


def _write_errors(entries: Sequence[MigrationEntry], results: Sequence[MigrateResult]) -> None:
    """Record members that met an error. All other results were written by the engine together with the
    migration."""
    for entry, result in zip(entries, results, strict=True):
        if result.status == "error":
            entry.result, entry.detail, entry.at = Result.REFUSED, result.detail, clock.now()
            entry.save(update_fields=["result", "detail", "at"])
