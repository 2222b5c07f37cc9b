"""A task that this person requested has ended: a kind for each end."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from pipelines.models import Job, Status, Task
from pipelines.ports.observers import TaskEnded
from pipelines.queries import versions
from pipelines.queries.unmerged import has_unmerged_change
from pipelines.queries.unresolved_findings import unresolved_runs_of_undelivered_task
from pipelines.routing.sentences.names import station_name
from reviews.models import Notification
from reviews.notifications.kind import ConsequenceBatch, NotificationEvent, NotificationKind, NotificationText
from reviews.notifications.recipients import MailChoice

SENTENCES = {
    Status.COMPLETED: "“%(task)s” is completed.",
    Status.FAILED: "“%(task)s” failed.",
}
UNMERGED = "“%(task)s” is completed, but its change is not merged."
LEFT = "“%(task)s” is completed, nothing was merged, and problems are left: %(stations)s."


def _events_for_requesters_of_ended_tasks(
    end: Status, batch_context: ConsequenceBatch
) -> Iterable[NotificationEvent]:
    for ending in batch_context.consequences_of_type(TaskEnded):
        task = batch_context.tasks[ending.task_id]
        if ending.kind == end and task.requester_id is not None:
            data = _unmerged_or_unresolved_stations(task)
            yield NotificationEvent(
                task.requester_id, str(task.pk), task.project_id, ending.at, task.pk, data
            )


def _unmerged_or_unresolved_stations(task: Task) -> dict[str, Any]:
    if has_unmerged_change(task):
        return {"unmerged": True}
    line = versions.parsed_line_by_version_id(task.pinned_id)
    stations = [
        station_name(line, job.station)
        for job in unresolved_runs_of_undelivered_task(task, Job.objects.filter(task=task))
    ]
    return {"left": stations} if stations else {}


def _ended_text(end: Status, row: Notification) -> NotificationText:
    assert row.task is not None
    page = ("task", row.project.owner.key, row.project.key, row.task.name)
    stations = ", ".join(row.data.get("left", ()))
    sentence = UNMERGED if row.data.get("unmerged") else LEFT if stations else SENTENCES[end]
    return NotificationText(sentence % {"task": row.task.title, "stations": stations}, page, "Open the task")


COMPLETED = NotificationKind(
    "completed",
    "Your task is completed",
    "A task that you requested has reached its end.",
    "end-completed",
    MailChoice.NEVER,
    (TaskEnded,),
    partial(_events_for_requesters_of_ended_tasks, Status.COMPLETED),
    partial(_ended_text, Status.COMPLETED),
)
FAILED = NotificationKind(
    "failed",
    "Your task failed",
    "A task that you requested has failed.",
    "end-failed",
    MailChoice.NOW,
    (TaskEnded,),
    partial(_events_for_requesters_of_ended_tasks, Status.FAILED),
    partial(_ended_text, Status.FAILED),
)
