"""Messages about events on their way into the outbox, in the transaction of the event."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from pipelines.models import Task
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.ports.observers import Consequence
from reviews.channels.message_outbox import write_messages
from reviews.channels.topics import TopicOccurrence, occurrences
from reviews.models import ChannelMessage
from reviews.models.statements import CHANNELS_OF_TOPICS

EVENT = ChannelMessage.MessageKind.EVENT


def post_events(batch: Sequence[Consequence]) -> None:
    """Post one message about each event of a batch to each channel that tells of it."""
    items = occurrences(batch)
    rows = fetch(CHANNELS_OF_TOPICS, [list({item.topic for item in items}), *_places(items)]) if items else []
    by_place: defaultdict[tuple[str, int], list[tuple[int, list[str]]]] = defaultdict(list)
    for connection, topics, project, tasks in rows:
        by_place["project", project].append((connection, topics))
        for task in tasks:
            by_place["task", task].append((connection, topics))
    messages = [
        _message(connection, item)
        for item in items
        for connection, topics in by_place[_place(item.event)]
        if item.topic in topics
    ]
    if messages:
        write_messages(messages)


def _place(event: Any) -> tuple[str, int]:
    task_id = getattr(event, "task_id", None)
    return ("project", event.project_id) if task_id is None else ("task", task_id)


def _places(items: Sequence[TopicOccurrence]) -> tuple[list[int], list[int]]:
    """Return the ids of tasks, and of projects, to which something happened."""
    places = {_place(item.event) for item in items}
    return [pk for what, pk in places if what == "task"], [pk for what, pk in places if what == "project"]


def _message(connection: int, item: TopicOccurrence) -> ChannelMessage:
    return ChannelMessage(
        connection_id=connection,
        kind=EVENT,
        task_id=getattr(item.event, "task_id", None),
        topic=item.topic,
        about=item.about,
        data=dict(item.data),
        created_at=item.event.at,
    )


def thread_of(message: ChannelMessage) -> str:
    """Return what the first message about the same task is called there; "" where this is the first."""
    if message.task_id is None:
        return ""
    sent = ChannelMessage.objects.filter(
        connection=message.connection_id, task=message.task_id, state=ChannelMessage.State.SENT
    )
    return (
        sent.exclude(ref="").exclude(pk=message.pk).order_by("pk").values_list("ref", flat=True).first() or ""
    )


def task_of(message: ChannelMessage) -> Task | None:
    related = ("project__owner", "line", "pinned", "requester")
    return Task.objects.select_related(*related).filter(pk=message.task_id or 0).first()
