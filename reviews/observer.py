"""Observer by which this app learns what has happened: it writes rows of its own and tickets, inside the
transaction of the move."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipelines.ports.observers import (
    Alarm,
    Consequence,
    GateClosed,
    GateDecided,
    GateDueMoved,
    GateOpened,
    GateOverdue,
    HealthBreached,
    Invariant,
    LinePublished,
    TaskLate,
    TaskStarted,
)
from reviews.channels import event_outbox
from reviews.channels import message_outbox as channels
from reviews.decision import review_access
from reviews.decision.invariants import INVARIANTS
from reviews.mail import mail_outbox
from reviews.notifications import notification_outbox
from reviews.notifications.kind import ConsequenceBatch
from reviews.notifications.table import NOTIFYING_EVENTS

GATES = (GateOpened, GateDueMoved, GateOverdue, GateDecided, GateClosed)
"""Classes that lists of reviews, their mails and channels follow."""
SELDOM = (Alarm, GateOverdue, HealthBreached, LinePublished, TaskLate)
"""Classes for which it is not looked up beforehand whether a channel tells of them."""


class ReviewObserver:
    """Keeps whom open gates ask, and puts mails and notifications into the outbox. Reads no clock, talks to no network,
    changes no task (house §1)."""

    hears = NOTIFYING_EVENTS | {GateDueMoved, LinePublished, TaskStarted}

    def handle_consequences(self, batch: Sequence[Consequence]) -> None:
        batch_context = ConsequenceBatch(batch)
        of_gates = batch_context.has_any_of(GATES)
        if of_gates:
            review_access.follow_opened_and_closed_visits(batch_context.batch, batch_context.lookups.visits)
        written = notification_outbox.write_and_return_notifications(batch_context)
        # After writing: what opened and closed in one batch is marked as read at once
        notification_outbox.mark_settled_notifications_read(batch_context)
        if batch_context.lookups.has_topics or batch_context.has_any_of(SELDOM):
            event_outbox.post_events_to_channels_of_topic(batch_context.batch)
        if batch_context.consequences_of_type(Alarm):
            mail_outbox.post_notices_of_alarms(batch_context)
        if of_gates:
            if written or batch_context.lookups.mailed or batch_context.has_any_of((GateOpened, GateOverdue)):
                mail_outbox.post_mails_of_reviews(batch_context, written)
            if batch_context.lookups.connected or batch_context.lookups.messaged:
                channels.post_opening_and_closing_messages(batch_context)

    def invariants(self) -> Iterable[Invariant]:
        return INVARIANTS
