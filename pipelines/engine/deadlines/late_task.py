"""A task whose due time has passed: whoever requested it is told, and nothing else happens."""

from __future__ import annotations

from pipelines.engine.core.batch import Batch
from pipelines.models import Due
from pipelines.ports import observers


def handle_late_task(batch: Batch, due: Due) -> None:
    """Handle due times of kind `task`."""
    batch.emit(observers.TaskLate(due.task_id, batch.now))
    batch.flush()
