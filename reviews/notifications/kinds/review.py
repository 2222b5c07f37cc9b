"""A review waits for this person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from pipelines.engine.moves.absences import ids_of_deciders
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
from reviews.decision.gates import gate_with_approval_policy_of_visit
from reviews.models import Notification
from reviews.notifications.kind import ConsequenceBatch, NotificationEvent, NotificationKind, NotificationText
from reviews.notifications.recipients import MailChoice


def events(batch_context: ConsequenceBatch) -> Iterable[NotificationEvent]:
    """Everybody who may decide, stand-ins included, and the members among the addresses the gate names."""
    opened = {event.visit_id: event for event in batch_context.consequences_of_type(GateOpened)}
    if opened:
        people, away = batch_context.lookups.people, batch_context.lookups.away
        for visit in batch_context.lookups.visits:
            event = opened[visit.pk]
            gate = gate_with_approval_policy_of_visit(
                visit, versions.parsed_line_by_version_id(visit.asked_by.pinned_id)
            )
            decider_ids = ids_of_deciders(
                people[event.project_id], away[event.project_id], visit, gate.approval
            )
            # Somebody may be asked by a role, and be named by address as well
            for user_id in dict.fromkeys(
                [*decider_ids, *batch_context.unique_member_ids_at_addresses(event.task_id, event.notify)]
            ):
                yield NotificationEvent(
                    user_id,
                    str(visit.pk),
                    event.project_id,
                    event.opened_at,
                    event.task_id,
                    {"gate": gate.name},
                )
    for late in batch_context.consequences_of_type(GateOverdue):
        project_id = batch_context.tasks[late.task_id].project_id
        at_addresses = batch_context.unique_member_ids_at_addresses(late.task_id, late.notify)
        for user_id in dict.fromkeys([*late.people, *at_addresses]):
            yield NotificationEvent(
                user_id,
                f"{late.visit_id}:{_reminder_key(late.number)}",
                project_id,
                late.at,
                late.task_id,
                {"overdue": True} if late.number else {"soon": True},
            )


def _reminder_key(number: int) -> str:
    return "soon" if number == 0 else "overdue" if number == 1 else f"overdue{number}"


def every_notification_key_of_visit(visit: UUID) -> list[str]:
    """Return all that a notification of this gate visit may be about."""
    # Number 0 comes before it is due, number 1 as it is, and the repeated ones follow
    reminders = (_reminder_key(number) for number in range(MAX_REMINDERS + 2))
    return [str(visit), *(f"{visit}:{reminder}" for reminder in reminders)]


def settled_subjects(batch: Sequence[Consequence]) -> Iterable[str]:
    """It was decided, or closed."""
    for event in batch:
        if isinstance(event, GateDecided | GateClosed):
            yield from every_notification_key_of_visit(event.visit_id)


def notification_text(row: Notification) -> NotificationText:
    assert row.task is not None
    words = {"task": row.task.title, "gate": row.data.get("gate", "")}
    text = (
        "The review of “{task}” is overdue.".format(**words)
        if row.data.get("overdue")
        else "The review of “{task}” is due soon.".format(**words)
        if row.data.get("soon")
        else "“{task}” waits for your review: {gate}.".format(**words)
    )
    return NotificationText(text, ("gate-visit", row.about.partition(":")[0]), "Open the review")


KIND = NotificationKind(
    "review",
    "Reviews",
    "A task waits for your decision, or your decision is overdue.",
    "gate",
    MailChoice.NOW,
    (GateOpened, GateOverdue, GateDecided, GateClosed, VoteCast),
    events,
    notification_text,
    named=True,
    addressed=True,
    settled=settled_subjects,
)
