"""A live version that this person answers for breaks a guarantee, as the law reads it now."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.ports.observers import GuaranteeRefuted
from pipelines.routing.basics.plural import singular_or_plural
from reviews.models import Notification
from reviews.notifications.kind import ConsequenceBatch, NotificationEvent, NotificationKind, NotificationText
from reviews.notifications.recipients import MailChoice


def events(batch_context: ConsequenceBatch) -> Iterable[NotificationEvent]:
    for refuted in batch_context.consequences_of_type(GuaranteeRefuted):
        yield NotificationEvent(
            refuted.user_id,
            f"refuted:{refuted.version_id}",
            refuted.project_id,
            refuted.at,
            data={
                "line": refuted.key,
                "name": refuted.name,
                "version": refuted.number,
                "count": refuted.count,
            },
        )


def notification_text(row: Notification) -> NotificationText:
    count = row.data["count"]
    words = singular_or_plural(
        "%(n)s guarantee of %(line)s v%(version)s does not hold. The version runs on.",
        "%(n)s guarantees of %(line)s v%(version)s do not hold. The version runs on.",
        count,
    )
    return NotificationText(
        words % {"n": count, "line": row.data["name"], "version": row.data["version"]},
        ("line", row.project.owner.key, row.project.key, row.data["line"]),
        "Open the line",
        "guarantees",
    )


KIND = NotificationKind(
    "refuted",
    "Guarantees that do not hold",
    "A live version that you published or administer breaks a guarantee.",
    "guarantee-refuted",
    MailChoice.NOW,
    (GuaranteeRefuted,),
    events,
    notification_text,
)
