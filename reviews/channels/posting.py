"""Messages about reviews on their way into the outbox, in the transaction of the move."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from procrastinate.types import JSONDict

from pipelines.engine.core.statements import Statement, send
from pipelines.ports.observers import Consequence, GateClosed, GateDecided, GateOpened
from pipelines.ports.queue import enqueue
from reviews.models import ChannelConnection, ChannelMessage

TASK, QUEUE = "reviews.send_channel_message", "channels"
CONNECTED = (
    "SELECT id FROM reviews_channelconnection WHERE project_id = ANY(%s::bigint[]) AND enabled LIMIT 1"
)
TOLD = "SELECT id FROM reviews_channelmessage WHERE visit_id = ANY(%s::uuid[]) AND kind = 'opened' LIMIT 1"


def post_messages(batch: Sequence[Consequence]) -> None:
    """One message for each review that opens, to each connection of its project; one for each that is over, to those
    that were told."""
    opened = [each for each in batch if isinstance(each, GateOpened)]
    over = {each.visit_id: each.at for each in batch if isinstance(each, GateDecided | GateClosed)}
    made = [*_opened(opened), *_over(over)]
    if made:
        put(made)


def _opened(opened: Sequence[GateOpened]) -> Iterable[ChannelMessage]:
    if not opened:
        return
    connections = defaultdict(list)
    projects = {each.project_id for each in opened}
    # Most projects have none: that is asked first, in the cheapest way.
    if not send([Statement(CONNECTED, [list(projects)])])[0]:
        return
    for connection in ChannelConnection.objects.filter(project__in=projects, enabled=True):
        connections[connection.project_id].append(connection)
    for each in opened:
        for connection in connections[each.project_id]:
            yield _message(connection.pk, each.visit_id, ChannelMessage.Kind.OPENED, each.opened_at)


def _over(over: dict[UUID, datetime]) -> Iterable[ChannelMessage]:
    if not over or not send([Statement(TOLD, [list(over)])])[0]:
        return
    told = ChannelMessage.objects.filter(visit__in=over, kind=ChannelMessage.Kind.OPENED)
    for visit_id, connection_id in told.values_list("visit_id", "connection_id"):
        assert visit_id is not None
        yield _message(connection_id, visit_id, ChannelMessage.Kind.CLOSED, over[visit_id])


def _message(connection: int, visit: UUID, kind: ChannelMessage.Kind, at: datetime) -> ChannelMessage:
    return ChannelMessage(connection_id=connection, visit_id=visit, kind=kind, created_at=at)


def put(messages: Sequence[ChannelMessage]) -> None:
    """Write those that are new, each with a ticket."""
    ChannelMessage.objects.bulk_create(messages, ignore_conflicts=True)
    written = ChannelMessage.objects.filter(token__in=[each.token for each in messages])
    tickets: list[JSONDict] = [{"message_id": pk} for pk in written.values_list("pk", flat=True)]
    if tickets:
        enqueue(TASK, QUEUE, *tickets)
