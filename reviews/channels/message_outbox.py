"""Messages about reviews on their way into the outbox, in the transaction of the move."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from procrastinate.types import JSONDict

from pipelines.ports.observers import GateClosed, GateDecided, GateOpened
from pipelines.ports.queue import enqueue_queue_jobs
from pipelines.ports.queue_tasks import CHANNELS, SEND_CHANNEL_MESSAGE
from reviews.models import ChannelConnection, ChannelMessage
from reviews.notifications.kind import ConsequenceBatch


def post_opening_and_closing_messages(batch_context: ConsequenceBatch) -> None:
    """Post one message for each review that opens, to each connection of its project; one for each that is
    over, to those that got one before."""
    over = {
        event.visit_id: event.at
        for event in batch_context.batch
        if isinstance(event, GateDecided | GateClosed)
    }
    opened = (
        _unsaved_opening_messages(batch_context.consequences_of_type(GateOpened))
        if batch_context.lookups.connected
        else ()
    )
    made = [*opened, *(_unsaved_closing_messages(over) if batch_context.lookups.messaged else ())]
    if made:
        write_new_messages_with_tickets(made)


def _unsaved_opening_messages(opened: Sequence[GateOpened]) -> Iterable[ChannelMessage]:
    connections = defaultdict(list)
    projects = {event.project_id for event in opened}
    for connection in ChannelConnection.objects.filter(
        project__in=projects, enabled=True, topics__contains=["waiting"]
    ):
        connections[connection.project_id].append(connection)
    for event in opened:
        for connection in connections[event.project_id]:
            yield _unsaved_message(
                connection.pk,
                event.visit_id,
                event.task_id,
                ChannelMessage.MessageKind.OPENED,
                event.opened_at,
            )


def _unsaved_closing_messages(closed_at_by_visit: dict[UUID, datetime]) -> Iterable[ChannelMessage]:
    messages = ChannelMessage.objects.filter(
        visit__in=closed_at_by_visit, kind=ChannelMessage.MessageKind.OPENED
    )
    for visit_id, connection_id, task_id in messages.values_list("visit_id", "connection_id", "task_id"):
        assert visit_id is not None
        yield _unsaved_message(
            connection_id, visit_id, task_id, ChannelMessage.MessageKind.CLOSED, closed_at_by_visit[visit_id]
        )


def _unsaved_message(
    connection: int, visit: UUID, task: int | None, kind: ChannelMessage.MessageKind, at: datetime
) -> ChannelMessage:
    return ChannelMessage(connection_id=connection, visit_id=visit, task_id=task, kind=kind, created_at=at)


def write_new_messages_with_tickets(messages: Sequence[ChannelMessage]) -> None:
    """Write those that are new, each with a ticket."""
    ChannelMessage.objects.bulk_create(messages, ignore_conflicts=True)
    # Ignored conflicts are not told: the rows that are new have our tokens
    written = ChannelMessage.objects.filter(token__in=[message.token for message in messages])
    rows = list(written.order_by("pk").values_list("pk", "connection_id", "task_id"))
    tickets: list[JSONDict] = [{"message_id": pk} for pk, _connection, _task in rows]
    if tickets:
        locks = [sequence_lock_or_none(connection, task) for _pk, connection, task in rows]
        enqueue_queue_jobs(SEND_CHANNEL_MESSAGE, CHANNELS, *tickets, locks=locks)


def sequence_lock_or_none(connection: int, task: int | None) -> str | None:
    """Return the lock that keeps the messages about one task in order on one channel."""
    return f"channel-{connection}-task-{task}" if task else None
