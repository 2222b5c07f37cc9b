"""A comment on a line names this person."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.ports.observers import CommentMention
from reviews.models import Notification
from reviews.notifications.kind import ConsequenceBatch, NotificationEvent, NotificationKind, NotificationText
from reviews.notifications.recipients import MailChoice


def events(batch_context: ConsequenceBatch) -> Iterable[NotificationEvent]:
    """Once for each comment, however often it is edited."""
    for mention in batch_context.consequences_of_type(CommentMention):
        yield NotificationEvent(
            mention.user_id,
            f"mention:{mention.comment_id}",
            mention.project_id,
            mention.at,
            data={
                "line": mention.line,
                "line_name": mention.line_name,
                "part": mention.part,
                "name": mention.name,
                "text": mention.text,
            },
        )


def notification_text(row: Notification) -> NotificationText:
    names = {"name": row.data["name"], "line": row.data["line_name"]}
    part = row.data["part"]
    return NotificationText(
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
    events,
    notification_text,
)
