"""Mails to addresses that a line names, on their way into the outbox. What the members at an address chose counts; an
address that is nobody's gets its mail at once."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime

from pipelines.ports.observers import Alarm, GateClosed, GateDecided, GateOpened, GateOverdue
from pipelines.ports.queue_tasks import SEND_MAIL, SEND_NOTICE
from reviews.models import Mail, Notice, Posted
from reviews.notifications.kind import Heard, NotificationKind
from reviews.notifications.kinds import escalation, review
from reviews.notifications.recipients import MailChoice, Recipient, members_at
from reviews.notifications.writing import Written, late, post

NOTICES, MAILS = (SEND_NOTICE, "notice_id"), (SEND_MAIL, "mail_id")


def post_notices(heard: Heard) -> None:
    """Those who are responsible are told of escalations and deadlocks, each once of each kind."""
    made = [
        Notice(task_id=each.task_id, kind=each.kind, about=each.about, address=to, created_at=each.at)
        for each in heard.of(Alarm)
        for to in each.notify
    ]
    _put(made, [heard.members(each.task_id, each.address) for each in made], escalation.KIND, *NOTICES)


def post_mails(heard: Heard, written: Sequence[Written]) -> None:
    asked = list(_asked(heard))
    mails = [mail for _task_id, mail in asked]
    there = [heard.members(task_id, mail.address) for task_id, mail in asked]
    named = {(mail.visit_id, mail.address.lower()) for mail in mails}
    for recipient, mail in _chosen(written):
        if (mail.visit_id, mail.address.lower()) not in named:
            mails.append(mail)
            there.append([recipient])
    _put(mails, there, review.KIND, *MAILS)
    closed = list(_closed(heard))
    members = members_at((project_id, mail.address.lower()) for project_id, mail in closed)
    there = [members.get((project_id, mail.address.lower()), []) for project_id, mail in closed]
    _put([mail for _project_id, mail in closed], there, review.KIND, *MAILS)


def _asked(heard: Heard) -> Iterable[tuple[int, Mail]]:
    """One mail per address when the gate opens (ALP A18), one for each reminder; with the task of each."""
    for opened in heard.of(GateOpened):
        for address in dict.fromkeys(opened.notify):
            yield opened.task_id, _mail(opened.visit_id, address, Mail.MailKind.ASKED, opened.opened_at)
    for overdue in heard.of(GateOverdue):
        for address in dict.fromkeys(overdue.notify):
            yield overdue.task_id, _reminder(overdue, address)


def _chosen(written: Sequence[Written]) -> Iterable[tuple[Recipient, Mail]]:
    """Who wants a mail of every review gets one where the gate does not name them, too. Reminders: whom it names."""
    for kind, event, recipient in written:
        if kind is review.KIND and recipient.mail(kind.key, kind.mail) == MailChoice.NOW:
            visit, _colon, reminder = event.about.partition(":")
            if not reminder:
                mail = _mail(uuid.UUID(visit), recipient.address, Mail.MailKind.ASKED, event.at, chosen=True)
                yield recipient, mail


def _mail(visit: uuid.UUID, address: str, kind: Mail.MailKind, at: datetime, *, chosen: bool = False) -> Mail:
    return Mail(visit_id=visit, address=address, kind=kind, created_at=at, chosen=chosen)


def _reminder(overdue: GateOverdue, address: str) -> Mail:
    kind = Mail.MailKind.OVERDUE if overdue.number else Mail.MailKind.SOON
    return Mail(
        visit_id=overdue.visit_id, address=address, kind=kind, number=overdue.number, created_at=overdue.at
    )


def _closed(heard: Heard) -> Iterable[tuple[int, Mail]]:
    """One closing mail in the thread to everybody who got a mail before, but not to who decided; with the project of
    each."""
    closings: dict[uuid.UUID, GateDecided | GateClosed] = {
        each.visit_id: each for each in heard.batch if isinstance(each, GateDecided | GateClosed)
    }
    if not closings or not heard.lookups.mailed:
        return
    told = Mail.objects.filter(
        visit_id__in=closings, kind__in=[Mail.MailKind.ASKED, Mail.MailKind.SOON, Mail.MailKind.OVERDUE]
    )
    # Whom the gate names comes first, and stays named whatever else they chose.
    told = told.exclude(state=Posted.State.SKIPPED).order_by("visit_id", "address", "chosen")
    rows = told.distinct("visit_id", "address")
    for visit_id, address, project_id, chosen in rows.values_list(
        "visit_id", "address", "visit__task__project_id", "chosen"
    ):
        closing = closings[visit_id]
        if not (isinstance(closing, GateDecided) and closing.decided_by_email == address):
            yield project_id, _mail(visit_id, address, Mail.MailKind.CLOSED, closing.at, chosen=chosen)


def _put(
    rows: Sequence[Posted], there: Sequence[Sequence[Recipient]], kind: NotificationKind, task: str, name: str
) -> None:
    """Those that were not told before. `there`: the members at the address of each."""
    if not rows:
        return
    waits = []
    for row, people in zip(rows, there, strict=True):
        wanted, wait = _when(people, kind, row.created_at)
        row.state = Posted.State.QUEUED if wanted else Posted.State.SKIPPED
        waits.append(wait)
    type(rows[0])._default_manager.bulk_create(rows, ignore_conflicts=True)
    sent = [each for each in zip(rows, waits, strict=True) if each[0].state == Posted.State.QUEUED]
    post([row for row, _wait in sent], task, name, [wait for _row, wait in sent])


def _when(people: Sequence[Recipient], kind: NotificationKind, at: datetime) -> tuple[bool, datetime | None]:
    """Whether anybody at an address wants the mail now, and until when it waits if it is quiet for all of them."""
    now = (MailChoice.NOW, MailChoice.NAMED)
    ends = [late(each, at) for each in people if each.mail(kind.key, kind.mail) in now]
    if people and not ends:
        return False, None
    waits = [end for end in ends if end is not None]
    return True, min(waits) if waits and len(waits) == len(ends) else None
