"""Running tasks and another version of their line: what it would do to them, and doing it as one audited, reversible
operation (docs/versions.md). What happens to a task happens in `engine`; here are rights, the confirmed impact and the
record."""

from __future__ import annotations

from pipelines.lines.line_migration.impact import Impact, TaskImpact, impact_of
from pipelines.lines.line_migration.operation import (
    REASON,
    StaleImpact,
    carry_on,
    check_idle,
    counts_of,
    migrate,
    migrations_of,
    undo,
)

__all__ = [
    "REASON",
    "Impact",
    "StaleImpact",
    "TaskImpact",
    "carry_on",
    "check_idle",
    "counts_of",
    "impact_of",
    "migrate",
    "migrations_of",
    "undo",
]
