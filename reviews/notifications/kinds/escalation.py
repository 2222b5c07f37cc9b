"""An escalation or a deadlock asks a role that this person has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipelines.ports.observers import Alarm, AlarmSettled, Consequence
from reviews.models import Notice, Notification
from reviews.notifications.kind import ConsequenceBatch, NotificationEvent, NotificationKind, NotificationText
from reviews.notifications.recipients import MailChoice

SENTENCES = {
    Notice.NoticeKind.ESCALATED: "“%(task)s” was escalated to you.",
    Notice.NoticeKind.BREACHED: "The escalation of “%(task)s” was not answered in time.",
    Notice.NoticeKind.DEADLOCK: "“%(task)s” is on hold in a deadlock.",
}


def events(batch_context: ConsequenceBatch) -> Iterable[NotificationEvent]:
    for alarm in batch_context.consequences_of_type(Alarm):
        for user_id in batch_context.unique_member_ids_at_addresses(alarm.task_id, alarm.notify):
            yield NotificationEvent(
                user_id,
                f"{alarm.about}:{alarm.kind}",
                batch_context.tasks[alarm.task_id].project_id,
                alarm.at,
                alarm.task_id,
                {"alarm": alarm.kind},
            )


def settled_subjects(batch: Sequence[Consequence]) -> Iterable[str]:
    """It was resolved, by whomever."""
    for event in batch:
        if isinstance(event, AlarmSettled):
            yield from (f"{event.about}:{kind}" for kind in SENTENCES)


def notification_text(row: Notification) -> NotificationText:
    assert row.task is not None
    kind = Notice.NoticeKind(row.data["alarm"])
    anchor = "deadlock" if kind == Notice.NoticeKind.DEADLOCK else "escalation"
    return NotificationText(
        SENTENCES[kind] % {"task": row.task.title},
        ("task", row.project.owner.key, row.project.key, row.task.name),
        "Resolve it",
        f"{anchor}-{row.about.partition(':')[0]}",
    )


KIND = NotificationKind(
    "escalation",
    "Escalations and deadlocks",
    "A task is on hold until somebody with your role resolves it.",
    "warning",
    MailChoice.NOW,
    (Alarm, AlarmSettled),
    events,
    notification_text,
    named=True,
    settled=settled_subjects,
)
