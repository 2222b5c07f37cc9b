"""A comment on a line names this person."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.ports.observers import CommentMention
from reviews.models import Notification
from reviews.notifications.kind import Heard, NotificationEvent, NotificationKind, Said
from reviews.notifications.recipients import MailChoice


def told(heard: Heard) -> Iterable[NotificationEvent]:
    """Once for each comment, however often it is edited."""
    for each in heard.of(CommentMention):
        yield NotificationEvent(
            each.user_id,
            f"mention:{each.comment_id}",
            each.project_id,
            each.at,
            data={
                "line": each.line,
                "line_name": each.line_name,
                "part": each.part,
                "name": each.name,
                "text": each.text,
            },
        )


def says(row: Notification) -> Said:
    names = {"name": row.data["name"], "line": row.data["line_name"]}
    part = row.data["part"]
    return Said(
        "{name} mentioned you in a comment on the line {line}.".format(**names),
        ("line-draw", row.project.owner.key, row.project.key, row.data["line"]),
        "Open the comment",
        f"station={part}&tab=comments" if part else "tab=comments",
        [("Comment", text)] if (text := row.data.get("text")) else [],
    )


KIND = NotificationKind(
    "mention",
    "Mentions",
    "A comment on a line names you.",
    "edit",
    MailChoice.DIGEST,
    (CommentMention,),
    told,
    says,
)
