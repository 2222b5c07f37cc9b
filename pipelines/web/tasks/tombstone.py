"""Page of a task that the retention of its project purged."""

from __future__ import annotations

from django.http import HttpResponse
from django.urls import reverse

from pipelines.models import Task
from pipelines.web.shell.page import SignedInRequest, render_in_shell, task_breadcrumbs


def tombstone_page(request: SignedInRequest, task: Task) -> HttpResponse:
    """Show when it was purged, how it ended, and what is left: a digest of each event, and its receipts."""
    keys = (task.project.owner.key, task.project.key)
    return render_in_shell(
        request,
        "tasks/tombstone.html",
        project=task.project,
        section="tasks",
        trail=task_breadcrumbs(task),
        task=task,
        tombstone=task.tombstone,
        receipts=task.kept_receipts.order_by("-landed_at"),
        line_url=reverse("line-version", args=[*keys, task.line.key, task.pinned.number]),
    )
