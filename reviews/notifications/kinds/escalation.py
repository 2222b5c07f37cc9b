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


def told(heard: Heard) -> Iterable[NotificationEvent]:
    for each in heard.of(Alarm):
        for user_id in heard.at(each.task_id, each.notify):
            yield NotificationEvent(
                user_id,
                f"{each.about}:{each.kind}",
                heard.tasks[each.task_id].project_id,
                each.at,
                each.task_id,
                {"alarm": each.kind},
            )


def settled(batch: Sequence[Consequence]) -> Iterable[str]:
    """It was resolved, by whomever."""
    for each in batch:
        if isinstance(each, AlarmSettled):
            yield from (f"{each.about}:{kind}" for kind in SENTENCES)


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
