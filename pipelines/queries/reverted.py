"""Tasks that were landed and whose branch then came back, within 30 days, to the very files that it had before."""

from __future__ import annotations

from pipelines.models import Task
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.queries.statements import REVERTED_BY


def tasks_reverted_by(job_id: int) -> list[Task]:
    """Return the tasks whose change the delivery of this job took back."""
    ids = {task_id for task_id, _visit in fetch(REVERTED_BY, [job_id])}
    return (
        list(Task.objects.select_related("line__live", "project").filter(pk__in=ids).order_by("pk"))
        if ids
        else []
    )
