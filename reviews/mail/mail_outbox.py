"""Mails to addresses that a line names, on their way into the outbox. What the members at an address chose counts; an
address that is nobody's gets its mail at once."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime

from pipelines.ports.observers import Alarm, GateClosed, GateDecided, GateOpened, GateOverdue
from pipelines.ports.queue_tasks import SEND_MAIL, SEND_NOTICE
from reviews.models import Mail, Notice, Posted
from reviews.notifications.kind import ConsequenceBatch, NotificationKind
from reviews.notifications.kinds import escalation, review
from reviews.notifications.notification_outbox import (
    Written,
    enqueue_mails_of_stored_rows,
    quiet_hours_end_or_none,
)
from reviews.notifications.recipients import MailChoice, Recipient, members_by_project_and_address

NOTICES, MAILS = (SEND_NOTICE, "notice_id"), (SEND_MAIL, "mail_id")


def post_notices_of_alarms(batch_context: ConsequenceBatch) -> None:
    """Post the notices of escalations and deadlocks to those who are responsible, each once of each kind."""
    made = [
        Notice(task_id=alarm.task_id, kind=alarm.kind, about=alarm.about, address=to, created_at=alarm.at)
        for alarm in batch_context.consequences_of_type(Alarm)
        for to in alarm.notify
    ]
    _store_and_enqueue_new_rows(
        made,
        [batch_context.project_members_with_address(notice.task_id, notice.address) for notice in made],
        escalation.KIND,
        *NOTICES,
    )


def post_mails_of_reviews(batch_context: ConsequenceBatch, written: Sequence[Written]) -> None:
    task_mails = list(_task_id_and_request_mails(batch_context))
    mails = [mail for _task_id, mail in task_mails]
    there = [
        batch_context.project_members_with_address(task_id, mail.address) for task_id, mail in task_mails
    ]
    # Whoever the gate names anyway gets one mail, not a second one by choice (house §3 I12)
    addressed = {(mail.visit_id, mail.address.lower()) for mail in mails}
    for recipient, mail in _recipients_and_subscribed_mails(written):
        if (mail.visit_id, mail.address.lower()) not in addressed:
            mails.append(mail)
            there.append([recipient])
    _store_and_enqueue_new_rows(mails, there, review.KIND, *MAILS)
    closed = list(_project_id_and_closing_mails(batch_context))
    members = members_by_project_and_address(
        (project_id, mail.address.lower()) for project_id, mail in closed
    )
    there = [members.get((project_id, mail.address.lower()), []) for project_id, mail in closed]
    _store_and_enqueue_new_rows([mail for _project_id, mail in closed], there, review.KIND, *MAILS)


def _task_id_and_request_mails(batch_context: ConsequenceBatch) -> Iterable[tuple[int, Mail]]:
    """Yield one mail per address when the gate opens (ALP A18), one for each reminder; with the task of each."""
    for opened in batch_context.consequences_of_type(GateOpened):
        for address in dict.fromkeys(opened.notify):
            yield (
                opened.task_id,
                _unsaved_mail(opened.visit_id, address, Mail.MailKind.ASKED, opened.opened_at),
            )
    for overdue in batch_context.consequences_of_type(GateOverdue):
        for address in dict.fromkeys(overdue.notify):
            yield overdue.task_id, _unsaved_reminder_mail(overdue, address)


def _recipients_and_subscribed_mails(written: Sequence[Written]) -> Iterable[tuple[Recipient, Mail]]:
    """Yield a mail for each person who wants one of every review, also where the gate does not name them.
    Reminders: whom it names."""
    for kind, event, recipient in written:
        if kind is review.KIND and recipient.mail_choice_or_default(kind.key, kind.mail) == MailChoice.NOW:
            visit, _colon, reminder = event.about.partition(":")
            if not reminder:
                mail = _unsaved_mail(
                    uuid.UUID(visit), recipient.address, Mail.MailKind.ASKED, event.at, chosen=True
                )
                yield recipient, mail


def _unsaved_mail(
    visit: uuid.UUID, address: str, kind: Mail.MailKind, at: datetime, *, chosen: bool = False
) -> Mail:
    return Mail(visit_id=visit, address=address, kind=kind, created_at=at, chosen=chosen)


def _unsaved_reminder_mail(overdue: GateOverdue, address: str) -> Mail:
    kind = Mail.MailKind.OVERDUE if overdue.number else Mail.MailKind.SOON
    return Mail(
        visit_id=overdue.visit_id, address=address, kind=kind, number=overdue.number, created_at=overdue.at
    )


def _project_id_and_closing_mails(batch_context: ConsequenceBatch) -> Iterable[tuple[int, Mail]]:
    """Yield one closing mail in the thread to everybody who got a mail before, but not to who decided; with
    the project of each."""
    closings: dict[uuid.UUID, GateDecided | GateClosed] = {
        event.visit_id: event for event in batch_context.batch if isinstance(event, GateDecided | GateClosed)
    }
    if not closings or not batch_context.lookups.mailed:
        return
    earlier_mails = Mail.objects.filter(
        visit_id__in=closings, kind__in=[Mail.MailKind.ASKED, Mail.MailKind.SOON, Mail.MailKind.OVERDUE]
    )
    # Whom the gate names comes first, and stays named whatever else they chose.
    earlier_mails = earlier_mails.exclude(state=Posted.State.SKIPPED).order_by(
        "visit_id", "address", "chosen"
    )
    rows = earlier_mails.distinct("visit_id", "address")
    for visit_id, address, project_id, chosen in rows.values_list(
        "visit_id", "address", "visit__task__project_id", "chosen"
    ):
        closing = closings[visit_id]
        decider = closing.decided_by_email.lower() if isinstance(closing, GateDecided) else ""
        if address.lower() != decider:
            yield (
                project_id,
                _unsaved_mail(visit_id, address, Mail.MailKind.CLOSED, closing.at, chosen=chosen),
            )


def _store_and_enqueue_new_rows(
    rows: Sequence[Posted],
    recipients_of_rows: Sequence[Sequence[Recipient]],
    kind: NotificationKind,
    task: str,
    name: str,
) -> None:
    """Store and post the rows that are new. `recipients_of_rows`: the members at the address of each."""
    if not rows:
        return
    waits = []
    for row, people in zip(rows, recipients_of_rows, strict=True):
        should_send, wait = _whether_wanted_and_quiet_until(people, kind, row.created_at)
        row.state = Posted.State.QUEUED if should_send else Posted.State.SKIPPED
        waits.append(wait)
    # Those that are there already keep their rows; `post` finds out which are new
    type(rows[0])._default_manager.bulk_create(rows, ignore_conflicts=True)
    sent = [pair for pair in zip(rows, waits, strict=True) if pair[0].state == Posted.State.QUEUED]
    enqueue_mails_of_stored_rows([row for row, _wait in sent], task, name, [wait for _row, wait in sent])


def _whether_wanted_and_quiet_until(
    people: Sequence[Recipient], kind: NotificationKind, at: datetime
) -> tuple[bool, datetime | None]:
    """Return whether anybody at an address wants the mail now, and until when it waits if it is quiet for all
    of them."""
    now = (MailChoice.NOW, MailChoice.NAMED)
    ends = [
        quiet_hours_end_or_none(recipient, at)
        for recipient in people
        if recipient.mail_choice_or_default(kind.key, kind.mail) in now
    ]
    # Somebody is known at the address, and nobody there wants it
    if people and not ends:
        return False, None
    waits = [end for end in ends if end is not None]
    return True, min(waits) if waits and len(waits) == len(ends) else None
