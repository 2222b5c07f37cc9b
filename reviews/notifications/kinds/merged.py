"""A change that this person approved has landed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from pipelines.models import Delivery, Membership, Status, Vote, Word
from pipelines.models.plumbing.compiled_queries import array_field, server_prepared
from pipelines.ports.observers import TaskEnded
from reviews.models import Notification
from reviews.notifications.kind import ConsequenceBatch, NotificationEvent, NotificationKind, NotificationText
from reviews.notifications.recipients import MailChoice

SENTENCES = {
    "merge": "“%(task)s”, which you approved: Merged as %(commit)s.",
    "request": "“%(task)s”, which you approved: Proposed as %(commit)s.",
}
PUSHED = "“%(task)s”, which you approved: Pushed as %(commit)s."
# Characters of a commit's id, as git shortens it
SHORT = 7


def _events_for_approvers_of_landed_tasks(batch_context: ConsequenceBatch) -> Iterable[NotificationEvent]:
    """Yield an event for each approver of a task that has landed. Its requester is notified that it is
    completed. A former member gets nothing."""
    ended = {
        ending.task_id: ending
        for ending in batch_context.consequences_of_type(TaskEnded)
        if ending.kind == Status.COMPLETED
    }
    if not ended:
        return
    landed = {delivery.task_id: delivery for delivery in _deliveries_landed_oldest_first(tasks=list(ended))}
    if not landed:
        return
    members = Membership.objects.filter(
        user=OuterRef("user"), project=OuterRef("visit__task__project"), user__is_active=True
    )
    votes = Vote.objects.filter(Exists(members), visit__task__in=landed, word=Word.APPROVE)
    # Without the order of the model: its column would be selected, and make every vote distinct
    for task_id, user_id in votes.order_by().values_list("visit__task", "user").distinct():
        task, one = batch_context.tasks[task_id], landed[task_id]
        if user_id != task.requester_id:
            data = {"to": one.to, "commit": one.commit}
            yield NotificationEvent(user_id, str(task_id), task.project_id, ended[task_id].at, task_id, data)


@server_prepared(tasks=array_field())
def _deliveries_landed_oldest_first(tasks: Any) -> QuerySet[Delivery, Delivery]:
    """The last one of a task comes last."""
    deliveries = Delivery.objects.filter(task__among=tasks, landed_at__isnull=False)
    return deliveries.order_by("landed_at", "job_id").only("task_id", "to", "commit")


def _delivered_text(row: Notification) -> NotificationText:
    assert row.task is not None
    words = {"task": row.task.title, "commit": row.data["commit"][:SHORT]}
    page = ("task", row.project.owner.key, row.project.key, row.task.name)
    return NotificationText(SENTENCES.get(row.data["to"], PUSHED) % words, page, "Open the task", "delivered")


KIND = NotificationKind(
    "merged",
    "What you approved is merged",
    "A change that you approved was merged, proposed or pushed, and its task is completed.",
    "end-completed",
    MailChoice.NEVER,
    (TaskEnded,),
    _events_for_approvers_of_landed_tasks,
    _delivered_text,
)
