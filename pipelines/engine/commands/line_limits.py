"""Limits of lines (law §8): at most so many tasks of a line are open at once, or of those with the same key."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pipelines.engine.commands import dependencies
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.values import Actor
from pipelines.engine.moves.completion import cancel_task
from pipelines.engine.statements import TASKS_AHEAD
from pipelines.errors import Conflict
from pipelines.models import ENDED, LimitPolicy, Line, Task
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.routing.basics import jsontext
from pipelines.routing.basics.bounds import EvaluationBudget, EvaluationFailed
from pipelines.routing.document.paths import PathError, compile_path

MAX_AHEAD: Final = 100
"""Tasks that may be ahead of a new one: so many rows are locked, and so long a line is worth waiting in."""
KEY_LENGTH: Final = 100


@dataclass(frozen=True)
class Turn:
    """Turn of a new task under the limit of its line. `ahead`: {id: name} of the open tasks that it counts with, where
    they leave no room, the oldest first. `replaced`: the ids of those that are cancelled for it."""

    room: int = 0
    ahead: Mapping[int, str] = field(default_factory=dict)
    replaced: tuple[int, ...] = ()


def limit_key_of_inputs_or_empty(line: Line, inputs: Mapping[str, Any]) -> str:
    """Return the key under which a new task counts: what the path of the limit finds in its inputs."""
    if line.limit_tasks is None or not line.limit_key:
        return ""
    try:
        values = list(compile_path(line.limit_key).nodes({"inputs": dict(inputs)}, EvaluationBudget()))
    except (PathError, EvaluationFailed):
        return ""
    text = jsontext.dumps(values, ascii_only=False) if values else ""
    return text if len(text) <= KEY_LENGTH else hashlib.sha256(text.encode()).hexdigest()


def lock_tasks_ahead(task: Task) -> Turn:
    """Return the turn of a numbered task, and lock the tasks ahead. Raises Conflict where too many are."""
    line = task.line
    if line.limit_tasks is None:
        return Turn()
    rows = fetch(TASKS_AHEAD, [line.pk, task.limit_key, task.pk, MAX_AHEAD + 1])
    if len(rows) < line.limit_tasks:
        return Turn()
    if line.limit_over == LimitPolicy.REPLACE:
        # What is cancelled and the new one together make room.
        return Turn(replaced=tuple(pk for pk, _number in rows[: len(rows) - line.limit_tasks + 1]))
    if len(rows) > MAX_AHEAD:
        raise Conflict(
            f"{MAX_AHEAD} tasks of {line.name} wait for their turn already. Cancel some of them, or raise the limit"
            " under Settings of the line."
        )
    return Turn(line.limit_tasks, {pk: f"WI-{task.project.key}-{number}" for pk, number in rows})


def cancel_replaced_or_wait(batch: Batch, task: Task, turn: Turn, actor: Actor) -> None:
    """Cancel what the new task replaces, or let it wait."""
    for pk in turn.replaced:
        if (old := batch.tasks[pk]).status not in ENDED:
            cancel_task(batch, old, actor, f"Replaced by {task.name}")
            batch.derive_and_set_task_status(old)
    if turn.ahead:
        dependencies.wait_for_free_place_among(batch, task, turn.ahead, turn.room, actor)
        batch.derive_and_set_task_status(task)
