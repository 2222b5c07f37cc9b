"""How this app learns what has happened: it writes rows of its own and tickets, inside the transaction of the move."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipelines.ports.observers import (
    Alarm,
    Consequence,
    GateClosed,
    GateDecided,
    GateOpened,
    GateOverdue,
    Invariant,
)
from reviews.channels import posting as channels
from reviews.decision import asked
from reviews.invariants import INVARIANTS
from reviews.mail import posting
from reviews.notifications import writing
from reviews.notifications.kind import Heard
from reviews.notifications.table import HEARD

GATES = (GateOpened, GateOverdue, GateDecided, GateClosed)
"""Classes that lists of reviews, their mails and channels follow."""


class ReviewObserver:
    """Keeps whom open gates ask, and puts mails and notifications into the outbox. Reads no clock, talks to no network,
    changes no task (house §1)."""

    hears = HEARD

    def consequences(self, batch: Sequence[Consequence]) -> None:
        heard = Heard(batch)
        of_gates = heard.any_of(GATES)
        if of_gates:
            asked.keep(heard.batch, heard.lookups.visits)
        told = writing.write(heard)
        writing.settle(heard)
        if heard.of(Alarm):
            posting.post_notices(heard)
        if of_gates:
            if told or heard.lookups.mailed or heard.any_of((GateOpened, GateOverdue)):
                posting.post_mails(heard, told)
            if heard.lookups.connected or heard.lookups.messaged:
                channels.post_messages(heard)

    def invariants(self) -> Iterable[Invariant]:
        return INVARIANTS
