"""A task that this person requested does not continue by itself."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q

from pipelines.models import GateVisit, Status, Token
from pipelines.ports.observers import GateOverdue, TaskLate, TaskWaits
from pipelines.queries import versions
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.names import station_name
from pipelines.routing.sentences.waits import stuck_sentence
from reviews.models import Notification
from reviews.notifications.kind import ConsequenceBatch, NotificationEvent, NotificationKind, NotificationText
from reviews.notifications.recipients import MailChoice

# A task that is on hold for one of these: somebody else is told, or other tasks have to end.
OTHERS = ["escalation", "paused_by", "depends_on", "paused"]
IN_VAIN = Q(wait__has_key="depends_on") & Q(wait__has_key="failed")
ASKS = Q(status__in=[Status.BLOCKED, Status.STUCK]) | (
    Q(status=Status.HELD) & (~Q(wait__has_any_keys=OTHERS) | IN_VAIN)
)
SENTENCES = {
    Status.BLOCKED: "“%(task)s” is blocked at %(station)s.",
    Status.STUCK: "“%(task)s” is stuck at %(station)s.",
    Status.HELD: "“%(task)s” is on hold at %(station)s.",
}
LATE_SENTENCES = {
    "task": "“%(task)s” is late: its due time has passed.",
    "review": "“%(task)s” is late: its review is overdue.",
}


LATE = "late:"
"""`about` begins so where the task, or its review, is late: after it the review, if it is that."""


def events(batch_context: ConsequenceBatch) -> Iterable[NotificationEvent]:
    yield from _events_of_late_tasks_and_reviews(batch_context)
    # By position: of several waits of one in a batch the last is what it does now
    waits = {
        event.token_id: event
        for event in batch_context.consequences_of_type(TaskWaits)
        if event.status in SENTENCES
    }
    if not waits:
        return
    # As they are now: later in the same batch a position may have gone on
    for token in Token.objects.filter(ASKS, pk__in=waits, task__requester__isnull=False).order_by("pk"):
        event = waits[token.pk]
        if event.held_by is not None and event.held_by == batch_context.tasks[event.task_id].requester_id:
            continue  # they know
        task = batch_context.tasks[event.task_id]
        assert task.requester_id is not None
        line = versions.parsed_line_by_version_id(task.pinned_id)
        station = station_name(line, token.station)
        yield NotificationEvent(
            task.requester_id,
            # With its version, so that the next wait of this position is told of, too
            f"{token.pk}:{token.version}",
            task.project_id,
            event.at,
            task.pk,
            {"status": token.status, "station": station, **_reason_of_stuck_or_held_token(token, line)},
        )


def _events_of_late_tasks_and_reviews(batch_context: ConsequenceBatch) -> Iterable[NotificationEvent]:
    # 0 comes before it is due, and after 1 it is told already
    overdue = [
        reminder for reminder in batch_context.consequences_of_type(GateOverdue) if reminder.number == 1
    ]
    both: list[TaskLate | GateOverdue] = [*batch_context.consequences_of_type(TaskLate), *overdue]
    positions = _positions_text_by_task(batch_context, {late.task_id for late in both})
    for late in both:
        task = batch_context.tasks[late.task_id]
        if task.requester_id is not None:
            about = f"{LATE}{late.visit_id}" if isinstance(late, GateOverdue) else f"{LATE}{task.pk}"
            data = {"late": "review" if isinstance(late, GateOverdue) else "task"}
            data |= {"where": positions[task.pk]} if task.pk in positions else {}
            yield NotificationEvent(task.requester_id, about, task.project_id, late.at, task.pk, data)


def _positions_text_by_task(batch: ConsequenceBatch, task_ids: set[int]) -> dict[int, str]:
    """Say of each task at which stations it is, and in which state, by one statement."""
    if not task_ids:
        return {}
    words: dict[int, list[str]] = {}
    for token in Token.objects.filter(task__in=task_ids, forked=False, ended_at=None).order_by("pk"):
        line = versions.parsed_line_by_version_id(batch.tasks[token.task_id].pinned_id)
        place = f"{station_name(line, token.station)}, {Status(token.status).label.lower()}"
        words.setdefault(token.task_id, []).append(place)
    return {task: " · ".join(places) for task, places in words.items()}


def _reason_of_stuck_or_held_token(token: Token, line: ParsedLine) -> dict[str, str]:
    """Say why it is stuck, who put it on hold and why, or the tasks it waits for that did not complete."""
    if token.status == Status.STUCK:
        sentence = stuck_sentence(token, line)
        return {"reason": f"{sentence.text} {sentence.remedy}"}
    if token.status != Status.HELD:
        return {}
    # Before who holds it: as long as these did not complete, releasing it would not help
    if token.wait.get("failed"):
        return {"failed": ", ".join(token.wait["failed"])}
    details = {name: str(token.wait[name]) for name in ("by", "reason") if token.wait.get(name)}
    return details if "by" in details else {}


def notification_text(row: Notification) -> NotificationText:
    assert row.task is not None
    words = {"task": row.task.title, **row.data}
    sentence = LATE_SENTENCES.get(row.data.get("late", "")) or SENTENCES[Status(row.data["status"])]
    if "failed" in row.data:
        sentence = "“%(task)s” waits for %(failed)s, which did not complete."
    elif "by" in row.data:
        sentence = "%(by)s put “%(task)s” on hold at %(station)s."
    facts = [
        (name, row.data[key]) for name, key in (("Where", "where"), ("Reason", "reason")) if row.data.get(key)
    ]
    page = ("task", row.project.owner.key, row.project.key, row.task.name)
    return NotificationText(sentence % words, page, "Open the task", facts=facts)


def waits_no_longer_as_told(row: Notification) -> bool:
    """Tell if it continues, or waits for something else; of a late one, if it has ended or was reviewed."""
    if row.data.get("late") == "task":
        return row.task is None or row.task.ended_at is not None
    if "late" in row.data:
        visit = row.about.removeprefix(LATE)
        return not GateVisit.objects.filter(pk=visit, state=GateVisit.State.OPEN).exists()
    token, _colon, version = row.about.partition(":")
    # Each move counts the version up, so another one means that it went on, or waits anew
    return not Token.objects.filter(pk=token, version=version).exists()


KIND = NotificationKind(
    "waiting",
    "Your task needs attention",
    "A task that you requested is blocked, stuck, on hold or late.",
    "status-blocked",
    MailChoice.NOW,
    (TaskWaits, TaskLate, GateOverdue),
    events,
    notification_text,
    over=waits_no_longer_as_told,
)
