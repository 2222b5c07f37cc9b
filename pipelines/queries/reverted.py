"""Tasks that were landed and whose branch then came back, within 30 days, to the very files that it had before."""

from __future__ import annotations

from typing import Final

from pipelines.models import Task
from pipelines.models.plumbing.compiled_queries import fetch

_TREES: Final = {
    name: f"coalesce(nullif({name}.landed_tree, ''), {name}.tree)" for name in ("before", "done", "later")
}


def reverted_tasks(which: str) -> str:
    """Return the statement of their rows `task_id, visit_id`. `which`: condition on the `task`, or on the delivery
    `later`, which brought the files back."""
    return f"""
        SELECT DISTINCT done.task_id, done.visit_id
        FROM pipelines_delivery done
        JOIN pipelines_task task ON task.id = done.task_id
        JOIN pipelines_delivery before ON before.commit = done.base AND before.commit <> ''
            AND before.repository_id = done.repository_id AND before.branch = done.branch
            AND {_TREES["before"]} <> {_TREES["done"]}
        JOIN pipelines_delivery later ON {_TREES["later"]} = {_TREES["before"]}
            AND later.repository_id = done.repository_id
            AND later.branch = done.branch AND later.landed_at > done.landed_at
            AND later.landed_at < done.landed_at + interval '30 days'
        WHERE {which} AND done.landed_at IS NOT NULL AND before.landed_at IS NOT NULL"""


REVERTED_BY: Final = reverted_tasks("later.job_id = %s")


def reverted_by(job_id: int) -> list[Task]:
    """Return the tasks whose change the delivery of this job took back."""
    ids = {task_id for task_id, _visit in fetch(REVERTED_BY, [job_id])}
    return (
        list(Task.objects.select_related("line__live", "project").filter(pk__in=ids).order_by("pk"))
        if ids
        else []
    )
