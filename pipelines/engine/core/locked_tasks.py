"""Locked and loaded rows of a transaction, as the parts of its batch see them."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from pipelines.engine.core.pause_span import PauseSpan
from pipelines.models import Due, Job, Task, Token


# Not the batch itself, which imports the modules that are handed it
class LockedTasks(Protocol):
    """Rows by their primary keys; `now` is the database's clock after the lock."""

    now: datetime
    tasks: dict[int, Task]
    tokens: dict[int, Token]
    jobs: dict[int, Job]
    dues: dict[int, Due]
    pauses: dict[int, list[PauseSpan]]
