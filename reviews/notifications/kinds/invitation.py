"""Somebody this person invited has joined."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.ports.observers import InvitationAccepted
from reviews.models import Notification
from reviews.notifications.kind import Heard, NotificationEvent, NotificationKind, Said
from reviews.notifications.recipients import MailChoice


def told(heard: Heard) -> Iterable[NotificationEvent]:
    for each in heard.of(InvitationAccepted):
        yield NotificationEvent(
            each.invited_by_id, str(each.invitation_id), each.project_id, each.at, data={"name": each.name}
        )


def says(row: Notification) -> Said:
    words = {"who": row.data["name"], "project": row.project.name or row.project.key}
    return Said(
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
    told,
    says,
)
