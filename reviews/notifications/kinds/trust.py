"""An agent that this person owns fell back by one trust level."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.ports.observers import TrustLowered
from reviews.models import Notification
from reviews.notifications.kind import ConsequenceBatch, NotificationEvent, NotificationKind, NotificationText
from reviews.notifications.recipients import MailChoice


def events(batch_context: ConsequenceBatch) -> Iterable[NotificationEvent]:
    for event in batch_context.consequences_of_type(TrustLowered):
        yield NotificationEvent(
            event.user_id,
            f"trust:{event.agent_id}:{event.at.isoformat()}",
            event.project_id,
            event.at,
            data={"name": event.name, "reason": event.reason},
        )


def notification_text(row: Notification) -> NotificationText:
    return NotificationText(
        "Trust in {name} is lowered. {reason}".format(**row.data),
        ("insights", row.project.owner.key, row.project.key),
        "Open Insights",
        "trust",
    )


KIND = NotificationKind(
    "trust",
    "Agents that are trusted less",
    "An agent that you own fell back by one trust level after something went wrong.",
    "warning",
    MailChoice.NOW,
    (TrustLowered,),
    events,
    notification_text,
)
