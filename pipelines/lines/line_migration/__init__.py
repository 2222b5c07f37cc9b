"""Running tasks and another version of their line: what it would do to them, and doing it as one audited, reversible
operation (docs/versions.md). What happens to a task happens in `engine`; here are rights, the confirmed impact and the
record."""

from __future__ import annotations

from pipelines.lines.line_migration.impact import Impact, TaskImpact, migration_impact_of
from pipelines.lines.line_migration.operation import (
    REASON,
    StaleImpact,
    check_idle,
    finish_migration,
    line_migrations,
    migrate_line,
    result_counts,
    undo_migration,
)

__all__ = [
    "REASON",
    "Impact",
    "StaleImpact",
    "TaskImpact",
    "check_idle",
    "finish_migration",
    "line_migrations",
    "migrate_line",
    "migration_impact_of",
    "result_counts",
    "undo_migration",
]
