"""Notifications on their way in: rows, tickets of their mails, and the hint to open pages, all of one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db import transaction
from procrastinate.types import JSONDict

from pipelines.models.plumbing import bulk_rows
from pipelines.models.plumbing.compiled_queries import Statement, execute_all_and_fetch
from pipelines.ports.observers import GateDecided, PersonHint, VoteCast, publish_committed_hints
from pipelines.ports.queue import enqueue_queue_jobs
from pipelines.ports.queue_tasks import MAIL, SEND_DIGEST, SEND_NOTIFICATION
from reviews.models import Digest, Notification, Posted
from reviews.models.statements import SETTLE_NOTIFICATIONS, SETTLE_VOTER
from reviews.notifications.kind import ConsequenceBatch, NotificationEvent, NotificationKind
from reviews.notifications.kinds import review
from reviews.notifications.recipients import MailChoice, Recipient, active_recipient_by_id
from reviews.notifications.table import KINDS

State = Posted.State
Written = tuple[NotificationKind, NotificationEvent, Recipient]
"""Who is notified of what, and how they want it."""


def kinds_concerned_by_batch(batch_context: ConsequenceBatch) -> list[NotificationKind]:
    """Return the kinds that react to a consequence of this batch, in the order of the table."""
    return [kind for kind in KINDS if batch_context.has_any_of(kind.hears)]


def write_and_return_notifications(batch_context: ConsequenceBatch) -> list[Written]:
    """Notify everybody the kinds name, each once. Returns what was written, and for whom."""
    kind_events = [
        (kind, event)
        for kind in kinds_concerned_by_batch(batch_context)
        for event in kind.find_events(batch_context)
    ]
    if not kind_events:
        return []
    # Whoever cannot sign in any more gets nothing: what it leads to is closed to them
    people = active_recipient_by_id({event.user_id for _kind, event in kind_events})
    deliverable = [
        (kind, event, people[event.user_id]) for kind, event in kind_events if event.user_id in people
    ]
    made = [row for entry in deliverable if (row := _unsaved_notification_or_none(*entry)) is not None]
    if made:
        # What was told before stays as it is, read or not
        bulk_rows.insert_rows(made, unless_there=True)
        _enqueue_mails_and_digests(made, people)
        _hint_people_on_commit({row.user_id for row in made if row.bell})
    return deliverable


def _unsaved_notification_or_none(
    kind: NotificationKind, event: NotificationEvent, recipient: Recipient
) -> Notification | None:
    """None where the person wants neither. At once, what a line names addresses for has mails of its own."""
    mail = recipient.mail_choice_or_default(kind.key, kind.mail)
    # The mail of the line comes by `mail_outbox`: from here a second one would tell of the same
    if kind.named and mail != MailChoice.DIGEST:
        mail = MailChoice.NEVER
    if mail == MailChoice.NEVER and not recipient.wants_bell(kind.key):
        return None
    states = {MailChoice.NOW: State.QUEUED, MailChoice.DIGEST: State.DIGEST}
    return bulk_rows.new_row(
        Notification,
        user_id=recipient.user_id,
        project_id=event.project_id,
        task_id=event.task_id,
        kind=kind.key,
        about=event.about,
        data=dict(event.data),
        bell=recipient.wants_bell(kind.key),
        address=recipient.address,
        state=states.get(MailChoice(mail), State.SKIPPED),
        created_at=event.at,
    )


def _enqueue_mails_and_digests(rows: Sequence[Notification], people: dict[int, Recipient]) -> None:
    queued = [row for row in rows if row.state == State.QUEUED]
    enqueue_mails_of_stored_rows(
        queued, SEND_NOTIFICATION, "notification_id", _quiet_hours_end_of_each_or_none(queued, people)
    )
    digests = {
        (row.user_id, people[row.user_id].time_of_next_digest(row.created_at)): row
        for row in rows
        if row.state == State.DIGEST
    }
    made = [
        Digest(user_id=user_id, address=row.address, due_at=due, created_at=row.created_at)
        # In one order, so that two moves that tell the same people do not wait for each other.
        for (user_id, due), row in sorted(digests.items(), key=lambda pair: pair[0])
    ]
    if made:
        Digest.objects.bulk_create(made, ignore_conflicts=True)
        enqueue_mails_of_stored_rows(made, SEND_DIGEST, "digest_id", [digest.due_at for digest in made])


def _quiet_hours_end_of_each_or_none(
    rows: Iterable[Notification], people: dict[int, Recipient]
) -> list[datetime | None]:
    return [quiet_hours_end_or_none(people[row.user_id], row.created_at) for row in rows]


def quiet_hours_end_or_none(recipient: Recipient, at: datetime) -> datetime | None:
    """Return when a mail may go out because of quiet hours; None if it may go out now."""
    end = recipient.time_after_quiet_hours(at)
    return end if end != at else None


def enqueue_mails_of_stored_rows(
    rows: Sequence[Posted], task: str, name: str, waits: Sequence[datetime | None]
) -> None:
    """Write a ticket for each of these rows that is new, not before its time."""
    if not rows:
        return
    # Rows that were there already have another token, and their own ticket
    written = dict(
        type(rows[0])
        ._default_manager.filter(token__in=[row.token for row in rows])
        .values_list("token", "pk")
    )
    # By time: all tickets of one moment are one statement, and most go out at once
    tickets: dict[datetime | None, list[JSONDict]] = {}
    for row, wait in zip(rows, waits, strict=True):
        if row.token in written:
            tickets.setdefault(wait, []).append({name: written[row.token]})
    for wait, arguments in tickets.items():
        enqueue_queue_jobs(task, MAIL, *arguments, not_before=wait)


def mark_settled_notifications_read(batch_context: ConsequenceBatch) -> None:
    """Mark as read the notifications whose subject is settled; and, of a review that others still have to
    decide, that of whoever has voted."""
    settled = {
        kind.key: list(kind.settled(batch_context.batch)) for kind in kinds_concerned_by_batch(batch_context)
    }
    over = [
        Statement(SETTLE_NOTIFICATIONS.format(kind=kind), [about]) for kind, about in settled.items() if about
    ]
    decided = {event.visit_id for event in batch_context.consequences_of_type(GateDecided)}
    over += [
        Statement(SETTLE_VOTER, [review.every_notification_key_of_visit(vote.visit_id), vote.user_id])
        for vote in batch_context.consequences_of_type(VoteCast)
        # What is decided is settled for everybody, the voter among them
        if vote.visit_id not in decided
    ]
    if over:
        _hint_people_on_commit(
            {user_id for user_rows in execute_all_and_fetch(over) for (user_id,) in user_rows}
        )


def _hint_people_on_commit(people: Iterable[int]) -> None:
    hints = [PersonHint(user_id) for user_id in sorted(people)]
    if hints:
        # A push that fails must not look like a move that failed: it is only a hint.
        transaction.on_commit(lambda: publish_committed_hints(hints), robust=True)
