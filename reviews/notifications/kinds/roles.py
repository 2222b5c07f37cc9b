"""Somebody else changed this person's roles in a project."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.models import Role
from pipelines.ports.observers import RolesChanged
from reviews.models import Notification
from reviews.notifications.kind import ConsequenceBatch, NotificationEvent, NotificationKind, NotificationText
from reviews.notifications.recipients import MailChoice


def events(batch_context: ConsequenceBatch) -> Iterable[NotificationEvent]:
    for event in batch_context.consequences_of_type(RolesChanged):
        if event.by_id != event.user_id:
            about = f"{event.project_id}:{event.at.isoformat()}"
            yield NotificationEvent(
                event.user_id,
                about,
                event.project_id,
                event.at,
                data={"before": list(event.before), "after": list(event.after)},
            )


def notification_text(row: Notification) -> NotificationText:
    words = {"project": row.project.name or row.project.key, "roles": _role_labels(row.data["after"])}
    text = (
        "Your roles in %(project)s are now: %(roles)s."
        if row.data["before"]
        else "You are now a member of %(project)s: %(roles)s."
    )
    return NotificationText(
        text % words, ("project-settings", row.project.owner.key, row.project.key), "See the members"
    )


def _role_labels(roles: Iterable[str]) -> str:
    return ", ".join(str(Role(role).label) for role in roles if role in Role.values)


KIND = NotificationKind(
    "roles",
    "Your roles",
    "You were added to a project, or your roles in it were changed.",
    "settings",
    MailChoice.DIGEST,
    (RolesChanged,),
    events,
    notification_text,
)
