"""The socket of a page: it carries hints only. Snapshots come over HTTP (house §4)."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.layers import get_channel_layer

from pipelines.ports.bus import errors_with_redis_if_loaded
from pipelines.web.live.audiences import RESYNC, Frame
from pipelines.web.live.hint_repair import audiences, healer
from pipelines.web.live.hints import line_group_name
from pipelines.web.live.presence import Presence
from pipelines.web.live.subscriptions import Subscription, requested_subscription_or_none

TRY_AGAIN = 1013  # closing code of RFC 6455: the client comes back
log = logging.getLogger(__name__)
NO_LONGER = 4403  # closing code: signed out, or no member any more; the client does not come back
MOST_WAITING = 100
"""Messages that wait for one client, where the server tells how fast it takes them; beyond, it is behind."""
FRAMES = "gateline.frames"
"""Extension of the scope by which a server takes a frame at once (config/socket_frames.py)."""


class LiveConsumer(AsyncWebsocketConsumer):
    """`/live/?project=owner/key[&line=key][&task=WI-…]`, or `project=*` for all that one may see, sends
    `{"hints": [{"task", "version"}, …]}` and
    `{"resync": true}` (of several projects with `of`, a number that tells tasks of one name apart), and `{"notified":
    true}` when there is news behind the bell of the person, whatever its project.
    With `&line=…&draw=1` it is one of a canvas: it tells besides `{"line": what, "number": n}` (the draft, the
    comments, the live version has this number now) and `{"here": {"socket", "user", "chosen", "away"}}` or `{"here":
    {"socket", "gone"}}` of the others who have it open. Whoever may not see the project is refused before the socket is
    accepted (403)."""

    # The process has one channel for all of them (audiences.py).
    channel_layer_alias = ""
    subscription: Subscription  # unset until the socket is accepted
    presence: Presence | None = None
    _write: Callable[[bytes], bool] | None = None
    _is_accepted = _is_behind = False
    _sending: asyncio.Task[None] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Run the socket while the bus is there; without it the socket does not open, and an open one ends:
        the page polls, and comes back until it opens again."""
        try:
            await super().__call__(scope, receive, send)
        except errors_with_redis_if_loaded(OSError) as error:
            log.warning("live: a socket ends, the bus is away: %s", str(error).strip())
            healer.remove_socket(self)
            await send({"type": "websocket.close", "code": TRY_AGAIN})

    async def connect(self) -> None:
        subscription = await database_sync_to_async(requested_subscription_or_none)(
            self.scope["user"], self.scope["session"], self.scope["query_string"]
        )
        if subscription is None:
            await self.close()
            return
        self.subscription = subscription
        self._write = self.scope.get("extensions", {}).get(FRAMES)
        self._waiting: deque[Frame] = deque()
        if subscription.draws and subscription.line_id is not None:
            self.presence = Presence(subscription.user_id, self._send_to_room)
        # Subscribed before it is accepted: the snapshot that the client takes then misses nothing.
        await audiences.join(self)
        await self.accept()
        # After `accept`: nothing can be sent before.
        self._is_accepted = True
        healer.add_socket(self)

    async def disconnect(self, code: int) -> None:
        if hasattr(self, "subscription"):
            await self._leave()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Nothing is asked over a socket: a canvas says what is chosen on it, and whatever else is sent is ignored."""
        if self.presence is not None:
            await self.presence.receive(text_data)

    # -- to the client -------------------------------------------------------------------------------------------

    def tell(self, frame: Frame) -> None:
        """Send it, and wait for nobody: a client that does not read what is sent is behind, and is told to fetch
        everything as soon as it reads again."""
        if self._is_accepted and not self._is_behind:
            self._is_behind = not (self._write(frame.data) if self._write else self._try_to_queue(frame))

    def tell_to_refetch_if_behind(self) -> None:
        """Tell a client that was behind to fetch everything, if it takes it. Called every second."""
        if self._is_behind:
            self._is_behind = not (self._write(RESYNC.data) if self._write else self._try_to_queue(RESYNC))

    def _try_to_queue(self, frame: Frame) -> bool:
        if len(self._waiting) >= MOST_WAITING:
            return False
        self._waiting.append(frame)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.ensure_future(self._send_waiting())
        return True

    async def _send_waiting(self) -> None:
        while self._waiting:
            try:
                await self.send(text_data=self._waiting.popleft().text)
            # The client went: the server says so by itself.
            except (OSError, RuntimeError) as error:
                log.debug("live: not sent: %s", error)
                return

    async def dismiss(self, *, again: bool) -> None:
        """`again`: the client comes back, and is told of the projects that its person sees then."""
        await self._leave()
        await self.close(code=TRY_AGAIN if again else NO_LONGER)

    async def _leave(self) -> None:
        self._is_accepted = False
        healer.remove_socket(self)
        await audiences.leave(self)
        if self.presence is not None:
            await self.presence.leave()

    async def _send_to_room(self, message: dict[str, Any]) -> None:
        if self.subscription.line_id is not None:
            name = line_group_name(self.subscription.line_id)
            await get_channel_layer().group_send(name, {**message, "line": self.subscription.line_id})
