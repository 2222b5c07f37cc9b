"""Somebody this person invited has joined."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

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
        _("%(who)s accepted your invitation to %(project)s.") % words,
        ("project-settings", row.project.owner.key, row.project.key),
        _("See the members"),
    )


KIND = NotificationKind(
    "invitation",
    gettext_lazy("Invitations accepted"),
    gettext_lazy("Somebody you invited has joined."),
    "actor-person",
    MailChoice.NEVER,
    (InvitationAccepted,),
    told,
    says,
)
