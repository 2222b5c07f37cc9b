"""What a transaction has locked and read, as the parts of its batch see it."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from pipelines.models import Due, Job, Task, Token


class LockedTasks(Protocol):
    """Rows by their primary keys; `now` is the database's clock after the lock."""

    now: datetime
    tasks: dict[int, Task]
    tokens: dict[int, Token]
    jobs: dict[int, Job]
    dues: dict[int, Due]
