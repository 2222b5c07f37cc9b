"""An escalation or a deadlock asks a role that this person has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipelines.ports.observers import Alarm, AlarmSettled, Consequence
from reviews.models import Notice, Notification
from reviews.notifications.kind import Heard, NotificationEvent, NotificationKind, Said
from reviews.notifications.recipients import MailChoice

SENTENCES = {
    Notice.NoticeKind.ESCALATED: "“%(task)s” was escalated to you.",
    Notice.NoticeKind.BREACHED: "The escalation of “%(task)s” was not answered in time.",
    Notice.NoticeKind.DEADLOCK: "“%(task)s” is on hold in a deadlock.",
}


def told(batch_context: Heard) -> Iterable[NotificationEvent]:
    for alarm in batch_context.of(Alarm):
        for user_id in batch_context.at(alarm.task_id, alarm.notify):
            yield NotificationEvent(
                user_id,
                f"{alarm.about}:{alarm.kind}",
                batch_context.tasks[alarm.task_id].project_id,
                alarm.at,
                alarm.task_id,
                {"alarm": alarm.kind},
            )


def settled(batch: Sequence[Consequence]) -> Iterable[str]:
    """It was resolved, by whomever."""
    for event in batch:
        if isinstance(event, AlarmSettled):
            yield from (f"{event.about}:{kind}" for kind in SENTENCES)


def says(row: Notification) -> Said:
    assert row.task is not None
    kind = Notice.NoticeKind(row.data["alarm"])
    anchor = "deadlock" if kind == Notice.NoticeKind.DEADLOCK else "escalation"
    return Said(
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
    told,
    says,
    named=True,
    settled=settled,
)
