"""Something happened to a task, on a line or at a station that this person follows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from pipelines.models import Membership, Status, Task, Word
from pipelines.ports.observers import Consequence, GateDecided, TaskEnded, TaskMoved, TaskWaits
from pipelines.queries import versions
from pipelines.queries.unmerged import has_unmerged_change
from pipelines.routing.sentences.names import station_name
from reviews.models import Follow, Notification
from reviews.notifications.kind import ConsequenceBatch, NotificationEvent, NotificationKind, NotificationText
from reviews.notifications.recipients import MailChoice

ENDED = (Status.COMPLETED, Status.FAILED, Status.CANCELLED)
STOPS = (Status.BLOCKED, Status.STUCK, Status.HELD)
SENTENCES = {
    "review": "“%(task)s” waits for a review.",
    "blocked": "“%(task)s” is blocked.",
    "stuck": "“%(task)s” is stuck.",
    "held": "“%(task)s” is on hold.",
    "decided": "“%(task)s” was decided: %(word)s.",
    "completed": "“%(task)s” is completed.",
    "unmerged": "“%(task)s” is completed, but its change is not merged.",
    "failed": "“%(task)s” failed.",
    "cancelled": "“%(task)s” was cancelled.",
    "arrived": "“%(task)s” is at %(station)s now.",
}


@dataclass(frozen=True)
class _FollowedEvent:
    """Event that followers may hear of. `by`: who did it and knows; `requester_knows`: whether another kind
    tells whoever requested the task; `of_line`: whether followers of the line are notified, too."""

    what: str
    of: TaskMoved | TaskEnded | GateDecided | TaskWaits
    stations: Sequence[str] = ()
    word: str = ""
    by: int | None = None
    of_line: bool = False
    requester_knows: bool = False


def events(batch_context: ConsequenceBatch) -> Iterable[NotificationEvent]:
    happened = [
        followed_event
        for one in batch_context.batch
        if (followed_event := _followed_event_or_none(one)) is not None
    ]
    if not happened:
        return
    for follow in _follows_of_active_members(batch_context.lookups.followed):
        for followed_event in happened:
            if _concerns_follower(follow, followed_event, batch_context.tasks):
                yield _notification_event(
                    follow, followed_event, batch_context.tasks[followed_event.of.task_id]
                )


def _followed_event_or_none(of: Consequence) -> _FollowedEvent | None:
    if isinstance(of, TaskMoved):
        return _FollowedEvent("arrived", of, of.target)
    if isinstance(of, TaskEnded) and of.kind in ENDED:
        # `ended` tells the requester of the other ends
        knows = of.kind != Status.CANCELLED
        return _FollowedEvent(of.kind, of, of_line=True, requester_knows=knows)
    if isinstance(of, GateDecided):
        return _FollowedEvent("decided", of, word=of.word, by=of.decided_by_id)
    if isinstance(of, TaskWaits) and of.status == Status.AWAITING_REVIEW:
        return _FollowedEvent("review", of)
    if isinstance(of, TaskWaits) and of.status in STOPS:
        return _FollowedEvent(of.status, of, by=of.held_by, of_line=True, requester_knows=True)
    return None


def _follows_of_active_members(followed: Sequence[int]) -> Iterable[Follow]:
    """Return those follows whose people can still see the project."""
    if not followed:
        return []
    members = Membership.objects.filter(
        user=OuterRef("user"), project=OuterRef("project"), user__is_active=True
    )
    return Follow.objects.filter(Exists(members), pk__in=followed).order_by("user_id", "pk")


def _concerns_follower(follow: Follow, followed_event: _FollowedEvent, tasks: dict[int, Task]) -> bool:
    task = tasks[followed_event.of.task_id]
    # Nobody is told of what they did, or are told as the requester anyway
    if follow.user_id == followed_event.by or (
        followed_event.requester_knows and follow.user_id == task.requester_id
    ):
        return False
    # Of a task its waits and its end: a notification for each station on its way would be too many
    if follow.task_id is not None:
        return follow.task_id == task.pk and followed_event.what != "arrived"
    if follow.line_id != task.line_id:
        return False
    return follow.station in followed_event.stations if follow.station else followed_event.of_line


def _notification_event(follow: Follow, followed_event: _FollowedEvent, task: Task) -> NotificationEvent:
    at = followed_event.of.at
    data = {"what": followed_event.what, "word": followed_event.word}
    if followed_event.what == "arrived":
        data["station"] = station_name(versions.parsed_line_by_version_id(task.pinned_id), follow.station)
    if followed_event.what == "completed" and has_unmerged_change(task):
        data["what"] = "unmerged"
    # By its time: a task may be stuck twice, and who follows it and its line is told once
    about = f"{task.pk}:{followed_event.what}:{at.isoformat()}"
    return NotificationEvent(follow.user_id, about, task.project_id, at, task.pk, data)


def notification_text(row: Notification) -> NotificationText:
    assert row.task is not None
    word = row.data.get("word", "")
    words = {
        "task": row.task.title,
        "station": row.data.get("station", ""),
        "word": Word(word).label if word in Word.values else word,
    }
    page = ("task", row.project.owner.key, row.project.key, row.task.name)
    return NotificationText(SENTENCES[row.data["what"]] % words, page, "Open the task")


KIND = NotificationKind(
    "followed",
    "What you follow",
    "Something happened to a task, on a line or at a station that you follow.",
    "watch",
    MailChoice.DIGEST,
    (TaskMoved, TaskEnded, GateDecided, TaskWaits),
    events,
    notification_text,
)
