"""The socket of a page: it carries hints only. Snapshots come over HTTP (house §4)."""

from __future__ import annotations

import json
import logging
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from pipelines.ports.bus import bus_errors
from pipelines.web.live.hint_repair import healer
from pipelines.web.live.hints import Row, line_group_name, person_group_name, project_group_name
from pipelines.web.live.presence import Presence
from pipelines.web.live.subscriptions import Subscription, requested_subscription

TRY_AGAIN = 1013  # closing code of RFC 6455: the client comes back
log = logging.getLogger(__name__)
NO_LONGER = 4403  # closing code: signed out, or no member any more; the client does not come back


class LiveConsumer(AsyncWebsocketConsumer):
    """`/live/?project=owner/key[&line=key][&task=WI-…]`, or `project=*` for all that one may see, sends
    `{"hints": [{"task", "version"}, …]}` and
    `{"resync": true}` (of several projects with `of`, a number that tells tasks of one name apart), and `{"notified":
    true}` when there is news behind the bell of the person, whatever its project.
    With `&line=…&draw=1` it is one of a canvas: it tells besides `{"line": what, "number": n}` (the draft, the
    comments, the live version has this number now) and `{"here": {"socket", "user", "chosen", "away"}}` or `{"here":
    {"socket", "gone"}}` of the others who have it open. Whoever may not see the project is refused before the socket is
    accepted (403)."""

    subscription: Subscription  # unset until the socket is accepted
    presence: Presence | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Run the socket while the bus is there; without it the socket does not open, and an open one ends:
        the page polls, and comes back until it opens again."""
        try:
            await super().__call__(scope, receive, send)
        except bus_errors(OSError) as error:
            log.warning("live: a socket ends, the bus is away: %s", str(error).strip())
            if hasattr(self, "subscription"):
                # Its groups are not left: that needs the bus.
                healer.remove_socket(self)
            await send({"type": "websocket.close", "code": TRY_AGAIN})

    async def connect(self) -> None:
        subscription = await database_sync_to_async(requested_subscription)(
            self.scope["user"], self.scope["session"], self.scope["query_string"]
        )
        if subscription is None:
            await self.close()
            return
        self.subscription = subscription
        # Subscribed before it is accepted: the snapshot that the client takes then misses nothing.
        for project_id in subscription.project_ids:
            await self.channel_layer.group_add(project_group_name(project_id), self.channel_name)
        await self.channel_layer.group_add(person_group_name(subscription.user_id), self.channel_name)
        if subscription.draws and subscription.line_id is not None:
            self.presence = Presence(subscription.user_id, self._send_to_room)
            await self.channel_layer.group_add(line_group_name(subscription.line_id), self.channel_name)
        await self.accept()
        # After `accept`: nothing can be sent before.
        healer.add_socket(self)

    async def disconnect(self, code: int) -> None:
        if hasattr(self, "subscription"):
            await self._leave()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Nothing is asked over a socket: a canvas says what is chosen on it, and whatever else is sent is ignored."""
        if self.presence is not None:
            await self.presence.receive(text_data)

    # -- from the layer ------------------------------------------------------------------------------------------

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Hints touch no database, so they skip the look at old connections that Channels takes before every message:
        it goes through the one thread that all sockets share, 1 ms for each of them."""
        handler = HANDLERS.get(message["type"])
        if handler is None:
            await super().dispatch(message)
        else:
            await handler(self, message)

    async def live_hints(self, message: dict[str, Any]) -> None:
        rows = [(line_id, name, seq) for line_id, name, seq in message["hints"]]
        healer.note_sent_versions(rows)
        await self.send_hints(rows)

    async def live_resync(self, message: dict[str, Any]) -> None:
        await self.send_resync()

    async def live_line(self, message: dict[str, Any]) -> None:
        if self.subscription.line_id is not None:
            healer.note_sent_revision(self.subscription.line_id, message["what"], message["number"])
        await self.send_line_revision(message["what"], message["number"])

    async def live_person(self, message: dict[str, Any]) -> None:
        await self.send(text_data='{"notified":true}')

    async def live_who(self, message: dict[str, Any]) -> None:
        if self.presence is not None:
            await self.presence.announce()

    async def live_here(self, message: dict[str, Any]) -> None:
        await self.send(text_data=json.dumps({"here": message["here"]}, separators=(",", ":")))

    # -- to the client -------------------------------------------------------------------------------------------

    async def send_hints(self, rows: list[Row]) -> None:
        hints: list[dict[str, Any]] = [
            {"task": name, "version": seq, **({"of": line_id} if self.subscription.every else {})}
            for line_id, name, seq in rows
            if self._is_relevant(line_id, name)
        ]
        if hints:
            await self.send(text_data=json.dumps({"hints": hints}, separators=(",", ":")))

    async def send_line_revision(self, what: str, number: int) -> None:
        await self.send(text_data=json.dumps({"line": what, "number": number}, separators=(",", ":")))

    async def send_resync(self) -> None:
        await self.send(text_data='{"resync":true}')

    async def dismiss(self, *, again: bool) -> None:
        """`again`: the client comes back, and is told of the projects that its person sees then."""
        await self._leave()
        await self.close(code=TRY_AGAIN if again else NO_LONGER)

    async def _leave(self) -> None:
        healer.remove_socket(self)
        for project_id in self.subscription.project_ids:
            await self.channel_layer.group_discard(project_group_name(project_id), self.channel_name)
        await self.channel_layer.group_discard(
            person_group_name(self.subscription.user_id), self.channel_name
        )
        if self.presence is not None and self.subscription.line_id is not None:
            await self.channel_layer.group_discard(
                line_group_name(self.subscription.line_id), self.channel_name
            )
            await self.presence.leave()

    async def _send_to_room(self, message: dict[str, Any]) -> None:
        if self.subscription.line_id is not None:
            await self.channel_layer.group_send(line_group_name(self.subscription.line_id), message)

    def _is_relevant(self, line_id: int, name: str) -> bool:
        # None: every line, or every task
        return self.subscription.line_id in (None, line_id) and self.subscription.task in (None, name)


HANDLERS = {
    "live.hints": LiveConsumer.live_hints,
    "live.resync": LiveConsumer.live_resync,
    "live.line": LiveConsumer.live_line,
    "live.person": LiveConsumer.live_person,
    "live.who": LiveConsumer.live_who,
    "live.here": LiveConsumer.live_here,
}
