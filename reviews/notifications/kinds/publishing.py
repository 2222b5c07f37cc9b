"""A draft waits for another designer to publish it, or came back."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.ports.observers import PublishRequested
from reviews.models import Notification
from reviews.notifications.kind import ConsequenceBatch, NotificationEvent, NotificationKind, NotificationText
from reviews.notifications.recipients import MailChoice


def events(batch_context: ConsequenceBatch) -> Iterable[NotificationEvent]:
    for request in batch_context.consequences_of_type(PublishRequested):
        what = "back" if request.reason else "asked"
        yield NotificationEvent(
            request.user_id,
            f"publishing:{request.request_id}:{what}",
            request.project_id,
            request.at,
            data={"line": request.key, "name": request.name, "by": request.by, "reason": request.reason},
        )


def notification_text(row: Notification) -> NotificationText:
    text = (
        "%(by)s sent %(line)s back instead of publishing it: %(reason)s"
        if row.data["reason"]
        else "%(by)s asks for publishing %(line)s. You wrote none of it and may publish it."
    )
    words = {"by": row.data["by"], "line": row.data["name"], "reason": row.data["reason"]}
    page = ("line-publish", row.project.owner.key, row.project.key, row.data["line"])
    return NotificationText(text % words, page, "Open the draft")


KIND = NotificationKind(
    "publishing",
    "Publishing by four eyes",
    "Somebody asks for publishing a draft that you may publish, or sends yours back.",
    "edit",
    MailChoice.NOW,
    (PublishRequested,),
    events,
    notification_text,
)
