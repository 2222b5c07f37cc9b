"""A task whose due time has passed: whoever requested it is told, and nothing else happens."""

from __future__ import annotations

from pipelines.engine.core.batch import Batch
from pipelines.models import Due
from pipelines.ports import observers


def task_is_late(batch: Batch, due: Due) -> None:
    """Handle due times of kind `task`."""
    batch.tell(observers.TaskLate(due.task_id, batch.now))
    batch.flush()
