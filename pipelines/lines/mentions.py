"""Mentions in a comment: `@` and the name that somebody signs in with, of a member who may see the line."""

from __future__ import annotations

import re
from datetime import datetime

from django.db.models.functions import Lower

from pipelines import access
from pipelines.models import Comment, Line, Membership, Project, User
from pipelines.ports import observers

# @mia, but not mia@example.com
MENTION = re.compile(r"(?<![\w@.])@([\w.@+-]+)")
MOST = 20
"""People that one comment names; the others are words."""
OFFERED = 200
QUOTED = 500
"""Characters of a comment that whoever it names is shown."""


def mentionable_members(project: Project) -> list[User]:
    """Return the members whom a comment of this project can name, ordered by name."""
    # Every role may see the lines of its project.
    roles = Membership.objects.filter(project=project, user__is_active=True).exclude(roles=[])
    return [
        membership.user for membership in roles.select_related("user").order_by("user__username")[:OFFERED]
    ]


def notify_mentioned(line: Line, row: Comment, author: User, now: datetime) -> None:
    """Inside the transaction that keeps the comment."""
    # A sentence may end right behind a name.
    names = [name.rstrip(".-").lower() for name in MENTION.findall(row.text)]
    if not names:
        return
    mentioned = list(dict.fromkeys(names))[:MOST]
    users = User.objects.annotate(low=Lower("username")).filter(
        low__in=mentioned, is_active=True, memberships__project=line.project_id
    )
    for user in users.exclude(pk=author.pk).order_by("pk").distinct():
        if access.is_permitted(user, "view", line.project):
            observers.emit_consequences(
                observers.CommentMention(
                    row.pk,
                    line.project_id,
                    line.key,
                    line.name,
                    row.key if row.kind == Comment.PartKind.STATION else "",
                    user.pk,
                    str(author),
                    now,
                    row.text[:QUOTED],
                )
            )
