"""Somebody else changed this person's roles in a project."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.models import Role
from pipelines.ports.observers import RolesChanged
from reviews.models import Notification
from reviews.notifications.kind import Heard, NotificationEvent, NotificationKind, Said
from reviews.notifications.recipients import MailChoice


def told(heard: Heard) -> Iterable[NotificationEvent]:
    for each in heard.of(RolesChanged):
        if each.by_id != each.user_id:
            about = f"{each.project_id}:{each.at.isoformat()}"
            yield NotificationEvent(
                each.user_id,
                about,
                each.project_id,
                each.at,
                data={"before": list(each.before), "after": list(each.after)},
            )


def says(row: Notification) -> Said:
    words = {"project": row.project.name or row.project.key, "roles": _roles(row.data["after"])}
    text = (
        "Your roles in %(project)s are now: %(roles)s."
        if row.data["before"]
        else "You are now a member of %(project)s: %(roles)s."
    )
    return Said(text % words, ("project-settings", row.project.owner.key, row.project.key), "See the members")


def _roles(roles: Iterable[str]) -> str:
    return ", ".join(str(Role(role).label) for role in roles if role in Role.values)


KIND = NotificationKind(
    "roles",
    "Your roles",
    "You were added to a project, or your roles in it were changed.",
    "settings",
    MailChoice.DIGEST,
    (RolesChanged,),
    told,
    says,
)
