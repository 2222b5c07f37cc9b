"""Migrating running tasks to another version of their line (law §1, LineVersion; docs/versions.md).

A token at rest is migrated at once: a queued job starts under the new version, an outcome that waits is decided again,
open gate visits are closed and asked again. A working one goes over at its next move: its job is judged by the version
it started under, and `landing` reads where that leads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import structlog

from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.core.values import Actor, add_counts_to_task, token_fields_for_event
from pipelines.engine.migration import joins
from pipelines.engine.migration.migration_batch import (
    WHY,
    MigrateResult,
    MigrationBatch,
    lock_and_read_for_migration,
)
from pipelines.engine.migration.positions import MigrationStep
from pipelines.engine.migration.snapshot import Planned
from pipelines.engine.moves import decision_application
from pipelines.models import ENDED, LineVersion, MigrationEntry, Task, Token
from pipelines.queries import versions
from pipelines.routing.analysis.migration_impact import MigrationEffect

LARGEST_BATCH = 50
log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class TaskMigration:
    """Migration of one task to another version of its line. `mapping`: {old station: new station}.

    `expected`: what was confirmed, as `Planned.effects_as_dicts` gives it; a task of which that is not true any
    more stays as it is. `entry_id`: the row of the audit that is written in the same transaction.
    """

    task_id: int
    to_version_id: int
    mapping: Mapping[str, str] = field(default_factory=dict)
    expected: Sequence[Mapping[str, Any]] | None = None
    entry_id: int | None = None


def migrate(members: Sequence[TaskMigration], actor: Actor) -> list[MigrateResult]:
    """Migrate tasks, up to fifty in one transaction; one result per member, in their order. A refused member is a
    value and holds up none of the others; one that meets an unexpected error is the only one that answers `error`."""
    return run_in_batches(partial(_migrate_chunk, actor=actor), members)


def run_in_batches(work: Any, members: Sequence[Any]) -> list[MigrateResult]:
    """Do the work for all members, up to fifty in one transaction."""
    results: list[MigrateResult] = []
    for start in range(0, len(members), LARGEST_BATCH):
        results += _run_chunk(work, members[start : start + LARGEST_BATCH])
    return results


def _run_chunk(work: Any, chunk: Sequence[Any]) -> list[MigrateResult]:
    """The members in one transaction; if that fails, each in one of its own (house §2)."""
    try:
        return run_in_transaction(partial(work, chunk))
    except Exception:
        log.exception("batch_rolled_back", members=len(chunk))
        return [_run_in_own_transaction(work, member) for member in chunk]


def _run_in_own_transaction(work: Any, member: Any) -> MigrateResult:
    try:
        result: MigrateResult = run_in_transaction(partial(work, [member]))[0]
        return result
    except Exception:
        log.exception("migration_failed", task=member.task_id)
        return MigrateResult(member.task_id, "error", "Something unexpected happened; nothing was changed.")


def _migrate_chunk(chunk: Sequence[TaskMigration], *, actor: Actor) -> list[MigrateResult]:
    ids = [member.task_id for member in chunk]
    this = lock_and_read_for_migration(
        ids, [member.to_version_id for member in chunk], [member.entry_id for member in chunk], actor
    )
    results = [_migrate_task(this, member) for member in chunk]
    this.write_rows()
    return results


def _migrate_task(migration_batch: MigrationBatch, member: TaskMigration) -> MigrateResult:
    task, entry = (
        migration_batch.batch.tasks.get(member.task_id),
        migration_batch.entries.get(member.entry_id or 0),
    )
    # The queue may hand out the same chunk twice: what is recorded is not done again
    if entry and entry.result != MigrationEntry.Result.PLANNED:
        return MigrateResult(member.task_id, "already", "This was done before.")
    why = _task_refusal_text(migration_batch, task, member)
    if why or task is None:
        return migration_batch.record_result_of_entry(
            member.entry_id, task, MigrateResult(member.task_id, "refused", why)
        )
    to = migration_batch.known[member.to_version_id]
    plan = migration_batch.ground.plan_migration_of_task(task, to, member.mapping)
    result = _plan_refusal_or_none(member, plan)
    if result:
        return migration_batch.record_result_of_entry(member.entry_id, task, result)
    snapshot = _apply_plan_and_return_snapshot(migration_batch, task, to, member, plan)
    return migration_batch.record_result_of_entry(
        member.entry_id, task, MigrateResult(task.pk, "migrated", "", plan), **snapshot
    )


def _task_refusal_text(migration_batch: MigrationBatch, task: Task | None, member: TaskMigration) -> str:
    if task is None:
        return "There is no such task."
    if migration_batch.mark_task_and_return_if_repeated(task.pk):
        return "This task is named twice."
    if task.status in ENDED:
        return "This task has ended."
    to = migration_batch.known.get(member.to_version_id)
    if to is None or to.line_id != task.line_id:
        return "This is not a version of the task's line."
    unknown = sorted(set(member.mapping.values()) - set(versions.parsed_version(to).stations_by_key))
    return f"Version {to.number} has no station {', '.join(unknown)}." if unknown else ""


def _plan_refusal_or_none(member: TaskMigration, plan: Planned) -> MigrateResult | None:
    """Return what prevents the migration, apart from the task itself."""
    # A person agreed to what was shown, and to nothing else
    if member.expected is not None and plan.effects_as_dicts() != [
        dict(effect) for effect in member.expected
    ]:
        return MigrateResult(member.task_id, "changed", "This task changed after the impact was shown.", plan)
    if plan.unmapped_stations:
        stations = ", ".join(plan.unmapped_stations)
        return MigrateResult(
            member.task_id, "refused", f"The station {stations} is gone; map it to another one.", plan
        )
    if plan.nothing:
        return MigrateResult(member.task_id, "already", "It is on this version already.", plan)
    return None


def _apply_plan_and_return_snapshot(
    migration_batch: MigrationBatch, task: Task, to: LineVersion, member: TaskMigration, plan: Planned
) -> dict[str, Any]:
    """Everything that happens to one task; for the audit, how it was before and is now."""
    batch, was = migration_batch.batch, migration_batch.known[task.pinned_id]
    steps = [
        MigrationStep(migration_batch, task, token, effect, to, member.mapping)
        for token, effect in _tokens_with_effects(migration_batch, task, plan)
    ]
    before = [step.position_before() for step in steps]
    previous = {name: getattr(task, name) for name in ("context", "variables", "unreadable")}
    forks = joins.station_keys_of_forked_tokens(batch, task)
    task.pinned = to
    batch.mark_task_changed(task, "pinned")
    changed = [step.token for step in steps if step.apply_without_events_and_tell_if_changed()]
    changed += joins.rename_forked_stations(batch, task, versions.parsed_version(to), member.mapping)
    batch.append_event(
        task,
        "task.migrated",
        migration_batch.actor,
        source=f"v{was.number}",
        target=f"v{to.number}",
        trigger=WHY,
        pinned=to.pk,
        was=was.pk,
        revision=to.revision,
        mapping=dict(member.mapping),
        migration=_migration_id_or_empty(migration_batch, member.entry_id),
        tokens=[token_fields_for_event(token) for token in changed],
        count=add_counts_to_task(task, plan.taken_back),
    )
    # After the event of the migration: each of these has events of its own.
    for step in steps:
        step.apply_with_events()
    decision_application.merge_joins_that_are_ready(batch, task, migration_batch.actor, WHY)
    changed_values: dict[str, Any] = {
        # Identity is enough: whatever changes these puts another dict in their place.
        name: value
        for name, value in previous.items()
        if value is not getattr(task, name)
    }
    if forks:
        changed_values["forks"] = forks
    return {
        "tokens": [
            step.before_and_after_record(state_before)
            for step, state_before in zip(steps, before, strict=True)
        ],
        "before": changed_values,
    }


def _tokens_with_effects(
    migration_batch: MigrationBatch, task: Task, plan: Planned
) -> list[tuple[Token, MigrationEffect]]:
    return list(zip(migration_batch.ground.tokens_of_task(task), plan.effects, strict=True))


def _migration_id_or_empty(migration_batch: MigrationBatch, entry_id: int | None) -> str:
    entry = migration_batch.entries.get(entry_id or 0)
    return str(entry.migration_id) if entry else ""
