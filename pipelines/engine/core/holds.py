"""Holds on all work of a task: dependencies that are not completed, and escalations that block it. One position can
have several holds: `token.wait` has the first, with the others nested under `then`. It continues when the last one is
released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.engine.core.batch import Batch
from pipelines.models import ENDED, Escalation, Task
from pipelines.queries import versions

FOR, LOST, THEN = "depends_on", "failed", "then"
BLOCK = "block"
Wait = dict[str, Any]


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
        paused_by(row)
        for row in rows
        if (row.breached_at and BLOCK in row.on_breach) or BLOCK in line.escalation(row.trigger).at_once
    ]


def paused_by(escalation: Escalation) -> Wait:
    return {"paused_by": str(escalation.pk), "trigger": escalation.trigger}


def is_dependency(wait: Wait) -> bool:
    return FOR in wait


def each_of(wait: Wait) -> list[Wait]:
    """Every hold on a position, in order."""
    return [{key: value for key, value in wait.items() if key != THEN}, *wait.get(THEN, ())]


def joined(waits: Sequence[Wait]) -> Wait:
    if not waits:
        return {}
    first, *others = waits
    return {**first, **({THEN: others} if others else {})}
