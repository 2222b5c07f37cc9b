"""How this app learns that a gate opened or closed: rows of its own and tickets, inside the move's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from procrastinate.types import JSONDict

from pipelines.outbox import enqueue
from pipelines.ports import Alarm, Consequence, GateClosed, GateDecided, GateOpened, GateOverdue, Invariant
from reviews.invariants import INVARIANTS
from reviews.models import Mail, Notice


class ReviewObserver:
    """Puts mails into the outbox. Reads no clock, talks to no network, changes no task (house §1)."""

    def consequences(self, batch: Sequence[Consequence]) -> None:
        _notice(batch)
        mails = [*_asked(batch), *_overdue(batch), *_closed(batch)]
        if not mails:
            return
        Mail.objects.bulk_create(mails, ignore_conflicts=True)
        written = Mail.objects.filter(token__in=[mail.token for mail in mails]).values_list("pk", flat=True)
        arguments: list[JSONDict] = [{"mail_id": pk} for pk in written]
        enqueue("reviews.send_mail", "mail", *arguments)

    def invariants(self) -> Iterable[Invariant]:
        return INVARIANTS


def _notice(batch: Sequence[Consequence]) -> None:
    """Those who are responsible are told of escalations and deadlocks, each once of each kind."""
    notices = [
        Notice(task_id=each.task_id, kind=each.kind, about=each.about, address=to, created_at=each.at)
        for each in batch
        if isinstance(each, Alarm)
        for to in each.notify
    ]
    if not notices:
        return
    Notice.objects.bulk_create(notices, ignore_conflicts=True)
    written = Notice.objects.filter(token__in=[each.token for each in notices]).values_list("pk", flat=True)
    arguments: list[JSONDict] = [{"notice_id": pk} for pk in written]
    enqueue("reviews.send_notice", "mail", *arguments)


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


def _overdue(batch: Sequence[Consequence]) -> Iterable[Mail]:
    """One reminder per address when a gate that reminds is due."""
    for overdue in batch:
        if isinstance(overdue, GateOverdue):
            for address in dict.fromkeys(overdue.notify):
                yield Mail(
                    visit_id=overdue.visit_id,
                    address=address,
                    kind=Mail.Kind.OVERDUE,
                    created_at=overdue.at,
                )


def _closed(batch: Sequence[Consequence]) -> Iterable[Mail]:
    """One closing mail in the thread to everybody who was asked or reminded, but not to who
    decided (screens §4)."""
    closings = {c.visit_id: c for c in batch if isinstance(c, GateDecided | GateClosed)}
    if not closings:
        return
    told = Mail.objects.filter(visit_id__in=closings, kind__in=[Mail.Kind.ASKED, Mail.Kind.OVERDUE])
    for visit_id, address in (
        told.order_by("visit_id", "address").distinct().values_list("visit_id", "address")
    ):
        closing = closings[visit_id]
        if not (isinstance(closing, GateDecided) and closing.decided_by_email == address):
            yield Mail(visit_id=visit_id, address=address, kind=Mail.Kind.CLOSED, created_at=closing.at)
