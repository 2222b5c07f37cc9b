"""A batch of migrations: what it reads and writes besides the tasks, and what becomes of each (law §1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pipelines.engine.core.batch import Batch
from pipelines.engine.core.values import Actor
from pipelines.engine.migration.snapshot import MigrationSnapshot, Planned
from pipelines.models import Job, LineVersion, MigrationEntry, Task
from pipelines.models.plumbing import bulk_rows

WHY = "migrate"
JOB = ("pinned", "kind", "agent", "state", "started_at", "mapping")


@dataclass(frozen=True)
class MigrateResult:
    """migrated · restored (by an undo) · already (nothing to do) · changed (not as expected any more) · refused
    (`detail` says why) · error (unexpected; nothing moved). `plan`: what was done, or would have been."""

    task_id: int
    status: Literal["migrated", "restored", "already", "changed", "refused", "error"]
    detail: str = ""
    plan: Planned | None = None


@dataclass
class MigrationBatch:
    """A batch with what a migration in it reads and writes besides."""

    batch: Batch
    ground: MigrationSnapshot
    actor: Actor
    known: dict[int, LineVersion]
    entries: dict[int, MigrationEntry]
    jobs: dict[int, Job] = field(default_factory=dict)
    done: list[MigrationEntry] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)

    def write_rows(self) -> None:
        bulk_rows.update_rows(list(self.jobs.values()), JOB)
        bulk_rows.update_rows(self.done, ("result", "detail", "tokens", "before", "seq", "at"))
        self.batch.flush()

    def mark_task_and_return_if_repeated(self, task_id: int) -> bool:
        """Return whether the task is named a second time in this batch; the first call marks it. A second
        migration would need newly read rows."""
        if task_id in self.seen:
            return True
        self.seen.add(task_id)
        return False

    def record_result_of_entry(
        self, entry_id: int | None, task: Task | None, result: MigrateResult, **more: Any
    ) -> MigrateResult:
        """Write down what became of it, if somebody keeps the record."""
        entry = self.entries.get(entry_id or 0)
        if entry is not None and result.status != "error":
            entry.result, entry.detail, entry.at = result.status, result.detail, self.batch.now
            entry.seq = task.seq if task else 0
            for name, value in more.items():
                setattr(entry, name, value)
            self.done.append(entry)
        return result


def lock_and_read_for_migration(
    task_ids: Sequence[int], version_ids: Sequence[int], entry_ids: Sequence[int | None], actor: Actor
) -> MigrationBatch:
    """Lock the tasks, and read everything that their migration depends on."""
    batch = Batch.of_tasks(*task_ids)
    ids = {*version_ids, *(task.pinned_id for task in batch.tasks.values())}
    return MigrationBatch(
        batch,
        MigrationSnapshot(batch.tasks.values(), batch.tokens.values(), batch.jobs),
        actor,
        # Large, and not needed: versions are kept parsed, by their id (house §2).
        LineVersion.objects.defer("document").in_bulk(ids),
        MigrationEntry.objects.in_bulk([entry_id for entry_id in entry_ids if entry_id]),
    )
