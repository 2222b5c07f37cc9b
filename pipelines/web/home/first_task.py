"""The first task of a newcomer, on Home: its line drawn, one button, and then the task as it moves on that drawing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from pipelines import access
from pipelines.lines.demo.lint_example import FINDINGS, IN_FILES
from pipelines.models import ENDED, Job, Line, LineVersion, Status, Task, User
from pipelines.ports.terms import SHIPPED
from pipelines.queries import log_tails, versions
from pipelines.queries.task_branch import DeliveryReceipt
from pipelines.queries.task_view import TaskView
from pipelines.web.lines.drawing import LineDrawing, drawing_of_version
from pipelines.web.tasks.task import delivery_receipts
from pipelines.web.tasks.task_path import endings_of, path_json


@dataclass(frozen=True, slots=True)
class FirstTask:
    """The first task of a newcomer on Home. `task`: the newest one that the reader started on this line, None

    before. `path`: the JSON that the drawing is updated with. `others`: lines that can be tried instead.
    """

    line: Line
    drawing: LineDrawing
    others: QuerySet[Line]
    task: Task | None = None
    view: TaskView | None = None
    path: str = ""
    receipts: tuple[DeliveryReceipt, ...] = ()
    may_set_up: bool = False

    @property
    def description(self) -> str:
        return versions.parsed(self.line.live).description if self.line.live else ""

    @property
    def ended(self) -> bool:
        return self.task is not None and self.task.status in ENDED

    @property
    def demo_findings(self) -> Mapping[str, Any] | None:
        """Count what the repository of the demo has before a task changed it; None of any other line."""
        live = self.line.live
        if self.task is not None or live is None or live.name != SHIPPED or "workspace" not in live.document:
            return None
        return {"findings": FINDINGS, "files": IN_FILES}


def first_task(line: Line, user: User) -> FirstTask:
    """`line`: with its live version and its project with the owner."""
    others = Line.objects.filter(project=line.project_id, live__isnull=False, archived_at=None).exclude(
        pk=line.pk
    )
    others = others.order_by("name").only("key", "name")[:20]
    tasks = Task.objects.filter(line=line, requester=user).select_related("pinned", "line", "project__owner")
    task = tasks.order_by("-pk").first()
    if task is None:
        live: LineVersion = line.live  # type: ignore[assignment]
        may_set_up = access.can(user, "design", line.project)
        return FirstTask(line, drawing_of_version(live, line.project_id), others, may_set_up=may_set_up)
    view = TaskView(task, timezone.now())
    working = [job for job in view.jobs if job.state == Job.State.RUNNING]
    if task.status == Status.AWAITING_REVIEW:
        # Nothing runs then: the last words of the job under review are shown.
        working = view.jobs[-1:]
    last = log_tails.last_lines(job.pk for job in working)
    stations = {job.station: last[job.pk] for job in working if job.pk in last}
    endings = endings_of(view)
    return FirstTask(
        line,
        drawing_of_version(task.pinned, line.project_id, endings),
        others,
        task,
        view,
        path_json(view, endings, stations),
        tuple(delivery_receipts(task, view.line)),
    )
