"""How this app learns that a gate opened or closed: rows of its own and tickets, inside the move's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from procrastinate.types import JSONDict

from pipelines.ports.observers import (
    Alarm,
    Consequence,
    GateClosed,
    GateDecided,
    GateOpened,
    GateOverdue,
    Invariant,
)
from pipelines.ports.queue import enqueue
from reviews.invariants import INVARIANTS
from reviews.models import Mail, Notice, Posted


class ReviewObserver:
    """Puts mails into the outbox. Reads no clock, talks to no network, changes no task (house §1)."""

    def consequences(self, batch: Sequence[Consequence]) -> None:
        _notice(batch)
        _put(Mail, [*_asked(batch), *_closed(batch)], "reviews.send_mail", "mail_id")

    def invariants(self) -> Iterable[Invariant]:
        return INVARIANTS


def _notice(batch: Sequence[Consequence]) -> None:
    """Those who are responsible are told of escalations and deadlocks, each once of each kind."""
    told = [
        Notice(task_id=each.task_id, kind=each.kind, about=each.about, address=to, created_at=each.at)
        for each in batch
        if isinstance(each, Alarm)
        for to in each.notify
    ]
    _put(Notice, told, "reviews.send_notice", "notice_id")


def _put(model: type[Posted], rows: Sequence[Posted], task: str, name: str) -> None:
    """Those that were not told before, each with a ticket whose argument has this name."""
    if not rows:
        return
    model._default_manager.bulk_create(rows, ignore_conflicts=True)
    tokens = [each.token for each in rows]
    written = model._default_manager.filter(token__in=tokens).values_list("pk", flat=True)
    arguments: list[JSONDict] = [{name: pk} for pk in written]
    enqueue(task, "mail", *arguments)


def _asked(batch: Sequence[Consequence]) -> Iterable[Mail]:
    """One mail per address when the gate opens (ALP A18), one reminder when a gate that reminds is due."""
    for each in batch:
        if isinstance(each, GateOpened):
            kind, at = Mail.Kind.ASKED, each.opened_at
        elif isinstance(each, GateOverdue):
            kind, at = Mail.Kind.OVERDUE, each.at
        else:
            continue
        for address in dict.fromkeys(each.notify):
            yield Mail(visit_id=each.visit_id, address=address, kind=kind, created_at=at)


def _closed(batch: Sequence[Consequence]) -> Iterable[Mail]:
    """One closing mail in the thread to everybody who was asked or reminded, but not to who
    decided."""
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
