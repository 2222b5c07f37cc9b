"""A task that this person requested has ended: a kind for each end."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from pipelines.models import Status
from pipelines.ports.observers import TaskEnded
from pipelines.queries.unmerged import left_unmerged
from reviews.models import Notification
from reviews.notifications.kind import Heard, NotificationEvent, NotificationKind, Said
from reviews.notifications.recipients import MailChoice

SENTENCES = {
    Status.COMPLETED: "“%(task)s” is completed.",
    Status.FAILED: "“%(task)s” failed.",
}
UNMERGED = "“%(task)s” is completed, but its change is not merged."


def _told(end: Status, heard: Heard) -> Iterable[NotificationEvent]:
    for ending in heard.of(TaskEnded):
        task = heard.tasks[ending.task_id]
        if ending.kind == end and task.requester_id is not None:
            data = {"unmerged": True} if left_unmerged(task) else {}
            yield NotificationEvent(
                task.requester_id, str(task.pk), task.project_id, ending.at, task.pk, data
            )


def _says(end: Status, row: Notification) -> Said:
    assert row.task is not None
    page = ("task", row.project.owner.key, row.project.key, row.task.name)
    sentence = UNMERGED if row.data.get("unmerged") else SENTENCES[end]
    return Said(sentence % {"task": row.task.title}, page, "Open the task")


COMPLETED = NotificationKind(
    "completed",
    "Your task is completed",
    "A task that you requested has reached its end.",
    "end-completed",
    MailChoice.NEVER,
    (TaskEnded,),
    partial(_told, Status.COMPLETED),
    partial(_says, Status.COMPLETED),
)
FAILED = NotificationKind(
    "failed",
    "Your task failed",
    "A task that you requested has failed.",
    "end-failed",
    MailChoice.NOW,
    (TaskEnded,),
    partial(_told, Status.FAILED),
    partial(_says, Status.FAILED),
)
