"""Token of a position, read under the lock of its task."""

from __future__ import annotations

from typing import NamedTuple

from pipelines.engine.core.batch import Batch
from pipelines.errors import first_row_or_raise_not_found
from pipelines.models import Task, Token


class LockedToken(NamedTuple):
    """Token of a position, its task, and the batch that holds the task's lock."""

    batch: Batch
    task: Task
    token: Token


def lock_token_if_it_is_left(token_id: int) -> LockedToken | None:
    """Lock the task of a token. None: the task has that token no more. :raises NotFound: there was none."""
    task_id = first_row_or_raise_not_found(
        Token.objects.filter(pk=token_id).values_list("task_id", flat=True)
    )
    batch = Batch.of_tasks(task_id)
    token = batch.tokens.get(token_id)
    return None if token is None else LockedToken(batch, batch.tasks[task_id], token)
