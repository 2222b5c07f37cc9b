"""A review waits for this person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from pipelines.engine.moves.absences import deciders
from pipelines.ports.observers import (
    Consequence,
    GateClosed,
    GateDecided,
    GateOpened,
    GateOverdue,
    VoteCast,
)
from pipelines.queries import versions
from pipelines.routing.document.gates import MAX_REMINDERS
from reviews.decision.gates import gate_at
from reviews.models import Notification
from reviews.notifications.kind import Heard, NotificationEvent, NotificationKind, Said
from reviews.notifications.recipients import MailChoice


def told(heard: Heard) -> Iterable[NotificationEvent]:
    """Everybody who may decide, stand-ins included, and the members among the addresses the gate names."""
    opened = {each.visit_id: each for each in heard.of(GateOpened)}
    if opened:
        people, away = heard.lookups.people, heard.lookups.away
        for visit in heard.lookups.visits:
            each = opened[visit.pk]
            gate = gate_at(visit, versions.by_id(visit.asked_by.pinned_id))
            asked = deciders(people[each.project_id], away[each.project_id], visit, gate.approval)
            for user_id in dict.fromkeys([*asked, *heard.at(each.task_id, each.notify)]):
                yield NotificationEvent(
                    user_id, str(visit.pk), each.project_id, each.opened_at, each.task_id, {"gate": gate.name}
                )
    for late in heard.of(GateOverdue):
        project_id = heard.tasks[late.task_id].project_id
        for user_id in heard.at(late.task_id, late.notify):
            yield NotificationEvent(
                user_id,
                f"{late.visit_id}:{_reminder(late.number)}",
                project_id,
                late.at,
                late.task_id,
                {"overdue": True} if late.number else {"soon": True},
            )


def _reminder(number: int) -> str:
    return "soon" if number == 0 else "overdue" if number == 1 else f"overdue{number}"


def about(visit: UUID) -> list[str]:
    """All that a notification of this gate visit may be about."""
    reminders = (_reminder(number) for number in range(MAX_REMINDERS + 2))
    return [str(visit), *(f"{visit}:{each}" for each in reminders)]


def settled(batch: Sequence[Consequence]) -> Iterable[str]:
    """It was decided, or closed."""
    for each in batch:
        if isinstance(each, GateDecided | GateClosed):
            yield from about(each.visit_id)


def says(row: Notification) -> Said:
    assert row.task is not None
    words = {"task": row.task.title, "gate": row.data.get("gate", "")}
    text = (
        "The review of “{task}” is overdue.".format(**words)
        if row.data.get("overdue")
        else "The review of “{task}” is due soon.".format(**words)
        if row.data.get("soon")
        else "“{task}” waits for your review: {gate}.".format(**words)
    )
    return Said(text, ("gate-visit", row.about.partition(":")[0]), "Open the review")


KIND = NotificationKind(
    "review",
    "Reviews",
    "A task waits for your decision, or your decision is overdue.",
    "gate",
    MailChoice.NOW,
    (GateOpened, GateOverdue, GateDecided, GateClosed, VoteCast),
    told,
    says,
    named=True,
    addressed=True,
    settled=settled,
)
