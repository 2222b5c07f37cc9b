"""Somebody this person invited has joined."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.ports.observers import InvitationAccepted
from reviews.models import Notification
from reviews.notifications.kind import ConsequenceBatch, NotificationEvent, NotificationKind, NotificationText
from reviews.notifications.recipients import MailChoice


def events(batch_context: ConsequenceBatch) -> Iterable[NotificationEvent]:
    for event in batch_context.consequences_of_type(InvitationAccepted):
        yield NotificationEvent(
            event.invited_by_id,
            str(event.invitation_id),
            event.project_id,
            event.at,
            data={"name": event.name},
        )


def notification_text(row: Notification) -> NotificationText:
    words = {"who": row.data["name"], "project": row.project.name or row.project.key}
    return NotificationText(
        "{who} accepted your invitation to {project}.".format(**words),
        ("project-settings", row.project.owner.key, row.project.key),
        "See the members",
    )


KIND = NotificationKind(
    "invitation",
    "Invitations accepted",
    "Somebody you invited has joined.",
    "actor-person",
    MailChoice.NEVER,
    (InvitationAccepted,),
    events,
    notification_text,
)
