"""An agent that works on a task of this person asks whether it may call a tool."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipelines.models import ToolPermission
from pipelines.ports.observers import Consequence, PermissionAnswered, PermissionAsked
from pipelines.queries import versions
from pipelines.routing.sentences.names import station_name
from reviews.models import Notification
from reviews.notifications.kind import ConsequenceBatch, NotificationEvent, NotificationKind, NotificationText
from reviews.notifications.recipients import MailChoice


def events(batch_context: ConsequenceBatch) -> Iterable[NotificationEvent]:
    for event in batch_context.consequences_of_type(PermissionAsked):
        task = batch_context.tasks[event.task_id]
        # What a program started may have nobody to be told
        if task.requester_id is not None:
            station = station_name(versions.parsed_line_by_version_id(task.pinned_id), event.station)
            data = {"station": station, "call": event.call, "permission": event.permission_id}
            about = f"permission:{event.permission_id}"
            yield NotificationEvent(task.requester_id, about, task.project_id, event.at, task.pk, data)


def settled_subjects(batch: Sequence[Consequence]) -> Iterable[str]:
    return [f"permission:{event.permission_id}" for event in batch if isinstance(event, PermissionAnswered)]


def notification_text(row: Notification) -> NotificationText:
    assert row.task is not None
    text = f"{row.data['station']} asks to call a tool for “{row.task.title}”."
    page = ("need-act", "permission", str(row.data["permission"]))
    return NotificationText(text, page, "Allow or deny", facts=[("Call", row.data["call"])])


def is_outdated(row: Notification) -> bool:
    """Tell whether nobody waits for the answer any more."""
    return not ToolPermission.waiting.filter(pk=row.data["permission"]).exists()


KIND = NotificationKind(
    "permission",
    "Your agent asks for permission",
    "An agent that works on a task that you requested asks whether it may call a tool.",
    "actor-agent",
    MailChoice.NOW,
    (PermissionAsked, PermissionAnswered),
    events,
    notification_text,
    over=is_outdated,
    settled=settled_subjects,
)
"""Its mail goes out at once: the agent waits."""
