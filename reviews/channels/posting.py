"""Messages about reviews on their way into the outbox, in the transaction of the move."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from procrastinate.types import JSONDict

from pipelines.ports.observers import GateClosed, GateDecided, GateOpened
from pipelines.ports.queue import enqueue
from pipelines.ports.queue_tasks import CHANNELS, SEND_CHANNEL_MESSAGE
from reviews.models import ChannelConnection, ChannelMessage
from reviews.notifications.kind import Heard


def post_messages(heard: Heard) -> None:
    """One message for each review that opens, to each connection of its project; one for each that is over, to those
    that were told."""
    over = {each.visit_id: each.at for each in heard.batch if isinstance(each, GateDecided | GateClosed)}
    opened = _opened(heard.of(GateOpened)) if heard.lookups.connected else ()
    made = [*opened, *(_over(over) if heard.lookups.messaged else ())]
    if made:
        put(made)


def _opened(opened: Sequence[GateOpened]) -> Iterable[ChannelMessage]:
    connections = defaultdict(list)
    projects = {each.project_id for each in opened}
    for connection in ChannelConnection.objects.filter(project__in=projects, enabled=True):
        connections[connection.project_id].append(connection)
    for each in opened:
        for connection in connections[each.project_id]:
            yield _message(connection.pk, each.visit_id, ChannelMessage.MessageKind.OPENED, each.opened_at)


def _over(over: dict[UUID, datetime]) -> Iterable[ChannelMessage]:
    told = ChannelMessage.objects.filter(visit__in=over, kind=ChannelMessage.MessageKind.OPENED)
    for visit_id, connection_id in told.values_list("visit_id", "connection_id"):
        assert visit_id is not None
        yield _message(connection_id, visit_id, ChannelMessage.MessageKind.CLOSED, over[visit_id])


def _message(connection: int, visit: UUID, kind: ChannelMessage.MessageKind, at: datetime) -> ChannelMessage:
    return ChannelMessage(connection_id=connection, visit_id=visit, kind=kind, created_at=at)


def put(messages: Sequence[ChannelMessage]) -> None:
    """Write those that are new, each with a ticket."""
    ChannelMessage.objects.bulk_create(messages, ignore_conflicts=True)
    written = ChannelMessage.objects.filter(token__in=[each.token for each in messages])
    tickets: list[JSONDict] = [{"message_id": pk} for pk in written.values_list("pk", flat=True)]
    if tickets:
        enqueue(SEND_CHANNEL_MESSAGE, CHANNELS, *tickets)
