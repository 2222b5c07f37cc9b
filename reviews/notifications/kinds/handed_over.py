"""This person became the owner of an agent."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.ports.observers import AgentHandedOver
from reviews.models import Notification
from reviews.notifications.kind import ConsequenceBatch, NotificationEvent, NotificationKind, NotificationText
from reviews.notifications.recipients import MailChoice


def events(batch_context: ConsequenceBatch) -> Iterable[NotificationEvent]:
    for event in batch_context.consequences_of_type(AgentHandedOver):
        yield NotificationEvent(
            event.user_id,
            f"agent:{event.agent_id}:{event.at.isoformat()}",
            event.project_id,
            event.at,
            data={"agent": event.agent_id, "name": event.name},
        )


def notification_text(row: Notification) -> NotificationText:
    return NotificationText(
        f"You now own the agent {row.data['name']}.",
        ("project-agent", row.project.owner.key, row.project.key, row.data["agent"]),
        "Open the agent",
    )


KIND = NotificationKind(
    "handed-over",
    "Agents handed to you",
    "You became the owner of an agent.",
    "actor-agent",
    MailChoice.NOW,
    (AgentHandedOver,),
    events,
    notification_text,
)
