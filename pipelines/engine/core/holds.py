"""Holds on all work of a task: dependencies that are not completed, and escalations that block it
(`routing/decide/holds`)."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.engine.core.batch import Batch
from pipelines.models import ENDED, Escalation, Task
from pipelines.queries import versions
from pipelines.routing.decide.holds import BLOCK, Wait, joined, paused_by

FOR, LOST = "depends_on", "failed"


def holds(batch: Batch, task: Task) -> Wait:
    """The `wait` for work that would start now; empty if nothing holds it."""
    others = batch.unmet.get(task.pk)
    return joined([*([waits_for(others)] if others else []), *_blocks(task)])


def waits_for(others: Mapping[str, str]) -> Wait:
    """The `wait` of a task that depends on these, {name: state}, none completed. A dependency that failed or was
    cancelled never completes and is named: a person has to decide."""
    lost = [name for name, status in others.items() if status in ENDED]
    return {FOR: list(others), **({LOST: lost} if lost else {})}


def _blocks(task: Task) -> list[Wait]:
    """Open escalations whose action `block` is in force. No query if none is open."""
    if not task.escalations:
        return []
    line = versions.by_id(task.pinned_id)
    rows = Escalation.objects.filter(task=task.pk, state=Escalation.State.OPEN).order_by("opened_at", "pk")
    return [
        paused_by(str(row.pk), row.trigger)
        for row in rows
        if (row.breached_at and BLOCK in row.on_breach) or BLOCK in line.escalation(row.trigger).at_once
    ]


def is_dependency(wait: Wait) -> bool:
    return FOR in wait
