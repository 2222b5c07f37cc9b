"""Table of what a channel can tell of: by which event, once about what, and in which words. One line adds one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pipelines.models import Status
from pipelines.ports.observers import (
    Alarm,
    Consequence,
    GateDecided,
    GateOverdue,
    HealthBreached,
    LinePublished,
    TaskEnded,
    TaskLate,
    TaskMoved,
    TaskStarted,
    TaskWaits,
)

Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TopicOccurrence:
    """Event to tell of. `about`: so that it is told once; `data`: what its sentence names."""

    topic: str
    about: str
    event: Any
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TopicSource:
    """Way in which something comes about that a channel tells of. `about`: None where this event is another one."""

    topic: str
    hears: type[Consequence]
    about: Callable[[Any], str | None]
    data: Callable[[Any], Data] = lambda event: {}


@dataclass(frozen=True, slots=True)
class ChannelTopic:
    """Topic that somebody can choose for a channel."""

    key: str
    label: str
    help: str


TOPICS: Final = (
    ChannelTopic(
        "waiting",
        "Waiting for you",
        "a review opens or ends, or a task is blocked: its station needs an answer",
    ),
    ChannelTopic("failed", "Failed", "a task has failed"),
    ChannelTopic(
        "stuck",
        "Stuck",
        "a task stands still by a fault: no rule takes its outcome, or its retries are used up",
    ),
    ChannelTopic("late", "Late", "a task or a review is past its due time, and nobody has ended it"),
    ChannelTopic("merged", "Merged", "a change has landed, and its task is completed"),
    ChannelTopic("started", "Started", "a task was started"),
    ChannelTopic("moved", "Moved", "a task went on to another station"),
    ChannelTopic("decided", "Decided", "a review was decided"),
    ChannelTopic("escalated", "Escalated", "an escalation or a deadlock asks a role"),
    ChannelTopic("published", "Published", "a version of a line was published"),
    ChannelTopic("health", "Health", "a figure of the project is over its limit"),
)
BY_KEY: Final = {topic.key: topic for topic in TOPICS}


def _token_data(event: TaskWaits) -> Data:
    return {"token": event.token_id}


def _about_waits_with_status(status: Status) -> Callable[[TaskWaits], str | None]:
    return lambda event: f"{event.token_id}:{event.at.isoformat()}" if event.status == status else None


EVENTS: Final = (
    TopicSource("waiting", TaskWaits, _about_waits_with_status(Status.BLOCKED), _token_data),
    TopicSource("failed", TaskEnded, lambda event: str(event.task_id) if event.kind == Status.FAILED else None),
    TopicSource("stuck", TaskWaits, _about_waits_with_status(Status.STUCK), _token_data),
    TopicSource("late", TaskLate, lambda event: str(event.task_id)),
    # 0 comes before it is due, and after 1 it is told already
    TopicSource(
        "late", GateOverdue, lambda event: str(event.visit_id) if event.number == 1 else None,
        lambda event: {"review": True},
    ),
    TopicSource("merged", TaskEnded, lambda event: str(event.task_id) if event.kind == Status.COMPLETED else None),
    TopicSource("started", TaskStarted, lambda event: str(event.task_id)),
    TopicSource(
        "moved", TaskMoved,
        lambda event: f"{event.task_id}:{event.at.isoformat()}:{event.source}"[:100],
        lambda event: {"source": event.source, "target": list(event.target)},
    ),
    TopicSource(
        "decided", GateDecided, lambda event: str(event.visit_id), lambda event: {"visit": str(event.visit_id)}
    ),
    TopicSource("escalated", Alarm, lambda event: f"{event.about}:{event.kind}", lambda event: {"alarm": event.kind}),
    TopicSource(
        "published", LinePublished, lambda event: str(event.version_id),
        lambda event: {"line": event.key, "name": event.name, "number": event.number, "by": event.by},
    ),
    TopicSource(
        # Each who is to do something about it is told by an event of its own
        "health", HealthBreached, lambda event: f"{event.figure}:{event.at.isoformat()}",
        lambda event: {"name": event.name, "value": event.value, "limit": event.limit, "todo": event.todo},
    ),
)  # fmt: skip


def unique_topic_occurrences(batch: Sequence[Consequence]) -> list[TopicOccurrence]:
    """Return what of a batch channels can tell of, each once."""
    by_about = {}
    for consequence in batch:
        for event in EVENTS:
            if isinstance(consequence, event.hears) and (about := event.about(consequence)) is not None:
                key = f"{event.topic}:{about}"
                by_about[key] = TopicOccurrence(event.topic, key, consequence, event.data(consequence))
    return list(by_about.values())
