"""A gate that asked about a sample asks about all again, on a line that this person answers for."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.ports.observers import SamplingStopped
from pipelines.routing.sentences.sampling import fallback_cause
from reviews.models import Notification
from reviews.notifications.kind import ConsequenceBatch, NotificationEvent, NotificationKind, NotificationText
from reviews.notifications.recipients import MailChoice


def events(batch: ConsequenceBatch) -> Iterable[NotificationEvent]:
    for stopped in batch.consequences_of_type(SamplingStopped):
        yield NotificationEvent(
            stopped.user_id,
            f"sampling:{stopped.line_id}:{stopped.gate}:{stopped.at.isoformat()}",
            stopped.project_id,
            stopped.at,
            data={
                "line": stopped.name,
                "gate": stopped.gate_name,
                "cause": fallback_cause(stopped.cause, stopped.task),
            },
        )


def notification_text(row: Notification) -> NotificationText:
    return NotificationText(
        "{gate} of {line} asks about all tasks again: {cause}.".format(**row.data),
        ("insights", row.project.owner.key, row.project.key),
        "Open Insights",
        "samples",
    )


KIND = NotificationKind(
    "sampling",
    "Gates that ask about all again",
    "A gate asked about a sample, on a line that you published or administer, and something went wrong.",
    "warning",
    MailChoice.NOW,
    (SamplingStopped,),
    events,
    notification_text,
)
