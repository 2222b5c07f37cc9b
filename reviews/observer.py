"""How this app learns that a gate opened or closed: rows of its own and tickets, inside the move's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from procrastinate.types import JSONDict

from pipelines.outbox import enqueue
from pipelines.ports import Consequence, GateClosed, GateDecided, GateOpened, Invariant
from reviews.invariants import INVARIANTS
from reviews.models import Mail


class ReviewObserver:
    """Puts mails into the outbox. Reads no clock, talks to no network, changes no task (house §1)."""

    def consequences(self, batch: Sequence[Consequence]) -> None:
        mails = [*_asked(batch), *_closed(batch)]
        if not mails:
            return
        Mail.objects.bulk_create(mails, ignore_conflicts=True)
        written = Mail.objects.filter(token__in=[mail.token for mail in mails]).values_list("pk", flat=True)
        arguments: list[JSONDict] = [{"mail_id": pk} for pk in written]
        enqueue("reviews.send_mail", "mail", *arguments)

    def invariants(self) -> Iterable[Invariant]:
        return INVARIANTS


def _asked(batch: Sequence[Consequence]) -> Iterable[Mail]:
    """One mail per address when the gate opens (ALP A18)."""
    for opened in batch:
        if isinstance(opened, GateOpened):
            for address in dict.fromkeys(opened.notify):
                yield Mail(
                    visit_id=opened.visit_id,
                    address=address,
                    kind=Mail.Kind.ASKED,
                    created_at=opened.opened_at,
                )


def _closed(batch: Sequence[Consequence]) -> Iterable[Mail]:
    """One closing mail in the thread to everybody who was asked, but not to who decided (screens §4)."""
    closings = {c.visit_id: c for c in batch if isinstance(c, GateDecided | GateClosed)}
    if not closings:
        return
    asked = Mail.objects.filter(visit_id__in=closings, kind=Mail.Kind.ASKED).values_list(
        "visit_id", "address"
    )
    for visit_id, address in asked:
        closing = closings[visit_id]
        if not (isinstance(closing, GateDecided) and closing.decided_by_email == address):
            yield Mail(visit_id=visit_id, address=address, kind=Mail.Kind.CLOSED, created_at=closing.at)
