"""Running tasks and another version of their line: what it would do to them, and doing it as one audited, reversible
operation (docs/versions.md). What happens to a task happens in `engine`; here are rights, the confirmed impact and the
record."""

from __future__ import annotations

from pipelines.lines.line_migration.impact import Impact, TaskImpact, migration_impact_of
from pipelines.lines.line_migration.operation import (
    REASON,
    StaleImpact,
    check_no_migration_under_way,
    finish_migration,
    migrate_line,
    migrations_newest_first,
    task_count_by_result,
    undo_migration,
)

__all__ = [
    "REASON",
    "Impact",
    "StaleImpact",
    "TaskImpact",
    "check_no_migration_under_way",
    "finish_migration",
    "migrate_line",
    "migration_impact_of",
    "migrations_newest_first",
    "task_count_by_result",
    "undo_migration",
]
