"""Messages about events on their way into the outbox, in the transaction of the event."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from pipelines.models import Task
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.ports.observers import Consequence
from reviews.channels.message_outbox import write_new_messages_with_tickets
from reviews.channels.topics import TopicOccurrence, unique_topic_occurrences
from reviews.models import ChannelMessage
from reviews.models.statements import CHANNELS_OF_TOPICS

EVENT = ChannelMessage.MessageKind.EVENT


def post_events_to_channels_of_topic(batch: Sequence[Consequence]) -> None:
    """Post one message about each event of a batch to each channel that tells of it."""
    items = unique_topic_occurrences(batch)
    rows = (
        fetch(CHANNELS_OF_TOPICS, [list({item.topic for item in items}), *_ids_of_tasks_and_projects(items)])
        if items
        else []
    )
    by_place: defaultdict[tuple[str, int], list[tuple[int, list[str]]]] = defaultdict(list)
    for connection, topics, project, tasks in rows:
        by_place["project", project].append((connection, topics))
        for task in tasks:
            by_place["task", task].append((connection, topics))
    messages = [
        _unsaved_event_message(connection, item)
        for item in items
        for connection, topics in by_place[_kind_and_id_of_task_or_project(item.event)]
        if item.topic in topics
    ]
    if messages:
        write_new_messages_with_tickets(messages)


def _kind_and_id_of_task_or_project(event: Any) -> tuple[str, int]:
    task_id = getattr(event, "task_id", None)
    return ("project", event.project_id) if task_id is None else ("task", task_id)


def _ids_of_tasks_and_projects(items: Sequence[TopicOccurrence]) -> tuple[list[int], list[int]]:
    """Return the ids of tasks, and of projects, to which something happened."""
    places = {_kind_and_id_of_task_or_project(item.event) for item in items}
    return [pk for what, pk in places if what == "task"], [pk for what, pk in places if what == "project"]


def _unsaved_event_message(connection: int, item: TopicOccurrence) -> ChannelMessage:
    return ChannelMessage(
        connection_id=connection,
        kind=EVENT,
        task_id=getattr(item.event, "task_id", None),
        topic=item.topic,
        about=item.about,
        data=dict(item.data),
        created_at=item.event.at,
    )


def first_sent_message_ref_or_empty(message: ChannelMessage) -> str:
    """Return what the first message about the same task is called there; "" where this is the first."""
    if message.task_id is None:
        return ""
    sent = ChannelMessage.objects.filter(
        connection=message.connection_id, task=message.task_id, state=ChannelMessage.State.SENT
    )
    others = sent.exclude(ref="").exclude(pk=message.pk)
    # By when it was sent: one that was refused and sent again later is a reply itself, and begins no thread
    return others.order_by("sent_at", "pk").values_list("ref", flat=True).first() or ""


def task_of_message_or_none(message: ChannelMessage) -> Task | None:
    related = ("project__owner", "line", "pinned", "requester")
    return Task.objects.select_related(*related).filter(pk=message.task_id or 0).first()
