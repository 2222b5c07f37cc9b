"""A figure of a project's health is over its limit, and this person is to do something about it."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.ports.observers import HealthBreached
from reviews.models import Notification
from reviews.notifications.kind import ConsequenceBatch, NotificationEvent, NotificationKind, NotificationText
from reviews.notifications.recipients import MailChoice


def events(batch: ConsequenceBatch) -> Iterable[NotificationEvent]:
    for breach in batch.consequences_of_type(HealthBreached):
        yield NotificationEvent(
            breach.user_id,
            f"health:{breach.figure}:{breach.at.isoformat()}",
            breach.project_id,
            breach.at,
            data={"name": breach.name, "value": breach.value, "limit": breach.limit, "todo": breach.todo},
        )


def notification_text(row: Notification) -> NotificationText:
    page = ("insights", row.project.owner.key, row.project.key)
    return NotificationText(
        "{name}: {value}, more than {limit}. {todo}".format(**row.data), page, "See the figures"
    )


KIND = NotificationKind(
    "health",
    "Health of a project",
    "A figure of a project is over its limit, and you are its development manager or administrator.",
    "warning",
    MailChoice.NOW,
    (HealthBreached,),
    events,
    notification_text,
)
