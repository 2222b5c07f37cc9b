"""How this app learns what has happened: it writes rows of its own and tickets, inside the transaction of the move."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipelines.ports.observers import Consequence, Invariant, JobOpened, VoteCast
from reviews import asked
from reviews.channels import posting as channels
from reviews.invariants import INVARIANTS
from reviews.mail import posting
from reviews.notifications import writing
from reviews.notifications.kind import Heard

UNHEARD = (JobOpened, VoteCast)
"""Consequences that notify nobody."""


class ReviewObserver:
    """Keeps whom open gates ask, and puts mails and notifications into the outbox. Reads no clock, talks to no network,
    changes no task (house §1)."""

    def consequences(self, batch: Sequence[Consequence]) -> None:
        heard = Heard([each for each in batch if not isinstance(each, UNHEARD)])
        if heard.batch:
            asked.keep(heard.batch, heard.lookups.visits)
            told = writing.write(heard)
            writing.settle(heard.batch)
            posting.post_notices(heard)
            posting.post_mails(heard, told)
            channels.post_messages(heard)

    def invariants(self) -> Iterable[Invariant]:
        return INVARIANTS
