"""Audiences: the sockets of a process by what they hear. The process has one channel of the layer for all of them, and
each message becomes one text for those who hear the same.

Nothing here waits for a client: what one cannot take it misses, and is told to fetch a snapshot when it can
(`LiveSocket.tell`)."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from channels.layers import get_channel_layer

from pipelines.ports.bus import errors_with_redis_if_loaded
from pipelines.web.live.hints import Row, line_group_name, person_group_name, project_group_name
from pipelines.web.live.layer import HINTS, Mailbox
from pipelines.web.live.presence import Presence
from pipelines.web.live.subscriptions import Subscription

log = logging.getLogger(__name__)
AT_ONCE: Final = 500
"""Sockets written to before the loop may do something else."""
MOST_WAITING: Final = 200
"""Messages that wait to be told; beyond, all sockets fetch a snapshot."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Message to any number of sockets: its text, and the bytes of an unmasked frame (RFC 6455, 5.2)."""

    text: str
    data: bytes


def encoded_frame(message: dict[str, Any]) -> Frame:
    text = json.dumps(message, separators=(",", ":"))
    payload = text.encode()
    # The length is written in as few bytes as it takes: a client refuses another spelling
    size = len(payload)
    if size < 126:
        head = bytes((0x81, size))
    elif size < 65_536:
        head = bytes((0x81, 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((0x81, 127)) + size.to_bytes(8, "big")
    return Frame(text, head + payload)


RESYNC: Final = encoded_frame({"resync": True})
NOTIFIED: Final = encoded_frame({"notified": True})


class LiveSocket(Protocol):
    subscription: Subscription
    presence: Presence | None

    def tell(self, frame: Frame) -> None: ...
    async def dismiss(self, *, again: bool) -> None: ...


class SentRecord(Protocol):
    """Record of the versions that have reached the sockets of this process."""

    def note_sent_versions(self, rows: Iterable[Row]) -> None: ...
    def note_sent_revision(self, line_id: int, what: str, number: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Audience:
    """Choice of the hints of a project that a socket hears. None: of every line, or of every task."""

    line_id: int | None
    task: str | None
    every: bool

    def frame_of_concerned_rows_or_none(self, rows: Iterable[Row]) -> Frame | None:
        hints = [
            {"task": name, "version": seq, **({"of": line_id} if self.every else {})}
            for line_id, name, seq in rows
            if self.line_id in (None, line_id) and self.task in (None, name)
        ]
        return encoded_frame({"hints": hints}) if hints else None


def audience_of(subscription: Subscription) -> Audience:
    return Audience(subscription.line_id, subscription.task, subscription.every)


def group_names(subscription: Subscription) -> list[str]:
    names = [project_group_name(project_id) for project_id in subscription.project_ids]
    names.append(person_group_name(subscription.user_id))
    if subscription.draws and subscription.line_id is not None:
        names.append(line_group_name(subscription.line_id))
    return names


class Audiences:
    """Lives while its process has sockets, on their loop."""

    def __init__(self, sent: SentRecord) -> None:
        self._sent = sent
        self._loop: asyncio.AbstractEventLoop | None = None
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._of_project: defaultdict[int, defaultdict[Audience, set[LiveSocket]]] = defaultdict(
            lambda: defaultdict(set)
        )
        self._of_group: defaultdict[str, set[LiveSocket]] = defaultdict(set)
        self._groups: Counter[str] = Counter()
        self._sockets: set[LiveSocket] = set()
        self._joining = asyncio.Lock()
        self._channel = ""
        self._task: asyncio.Task[None] | None = None

    async def join(self, socket: LiveSocket) -> None:
        """Tell it what its subscription names, from now on. Raises what the bus raises when it is away."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # a test's loop came and went
            self._loop = loop
            self._begin_anew()
        layer, names = get_channel_layer(), group_names(socket.subscription)
        async with self._joining:
            if self._task is None:
                self._channel = await layer.new_channel()
                self._task = loop.create_task(self._listen(self._channel))
            # The first of this process that hears it joins for all
            for name in names:
                if not self._groups[name]:
                    await layer.group_add(name, self._channel)
            # Only now: a bus that is away has nobody count for joined.
            self._groups.update(names)
            self._sockets.add(socket)
            for project_id in socket.subscription.project_ids:
                self._of_project[project_id][audience_of(socket.subscription)].add(socket)
            for name in names:
                self._of_group[name].add(socket)

    async def leave(self, socket: LiveSocket) -> None:
        if socket not in self._sockets:
            return
        names = group_names(socket.subscription)
        # Before anything is awaited: from here on nothing is written to it
        self._sockets.discard(socket)
        for project_id in socket.subscription.project_ids:
            audiences = self._of_project[project_id]
            audience = audience_of(socket.subscription)
            audiences[audience].discard(socket)
            # What nobody hears is not encoded
            if not audiences[audience]:
                del audiences[audience]
            if not audiences:
                del self._of_project[project_id]
        for name in names:
            self._of_group[name].discard(socket)
            if not self._of_group[name]:
                del self._of_group[name]
        async with self._joining:
            await self._leave_groups(names)

    async def _leave_groups(self, names: Sequence[str]) -> None:
        self._groups.subtract(names)
        gone = [name for name in names if self._groups[name] <= 0]
        for name in gone:
            del self._groups[name]
        if self._task is not None and not self._sockets:
            # Its channel goes with it, out of all groups.
            self._task.cancel()
            self._task = None
            return
        for name in gone:
            await get_channel_layer().group_discard(name, self._channel)

    async def join_groups_again(self) -> None:
        """Take up what a flushed layer has forgotten; a group that is joined already stays so."""
        async with self._joining:
            if self._task is not None:
                for name in list(self._groups):
                    await get_channel_layer().group_add(name, self._channel)

    # -- from the layer ------------------------------------------------------------------------------------------

    async def _listen(self, channel: str) -> None:
        """Receive and tell beside one another: hints that come faster than they can be told become one message of the
        last versions, whatever carries them."""
        inbox = Mailbox(MOST_WAITING)
        tasks = [
            asyncio.create_task(work)
            for work in (self._receive(channel, inbox), self._forward_messages_of_mailbox(inbox))
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except errors_with_redis_if_loaded(OSError) as error:
            log.warning("live: all sockets end, the bus is away: %s", str(error).strip())
            sockets = list(self._sockets)
            self._begin_anew()
            await asyncio.gather(*(socket.dismiss(again=True) for socket in sockets))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _receive(self, channel: str, inbox: Mailbox) -> None:
        layer = get_channel_layer()
        while True:
            message = await layer.receive(channel)
            try:
                # What waits here is on its way: to send it once more would make a busy process busier
                if message["type"] == HINTS:
                    self._sent.note_sent_versions(
                        (line_id, name, seq) for line_id, name, seq in message["hints"]
                    )
                inbox.put(message)
            except Exception:
                # As where one fails that is told (`_handle`): it may be of a process of another version
                log.exception("live: a message failed")
                inbox.drop_waiting()

    async def _forward_messages_of_mailbox(self, inbox: Mailbox) -> None:
        while True:
            message = await inbox.get()
            handle = HANDLERS.get(message["type"])
            if handle is not None:
                await self._handle(handle, message)

    async def _handle(self, handle: Handler, message: dict[str, Any]) -> None:
        try:
            await handle(self, message)
        except errors_with_redis_if_loaded(OSError):
            raise
        except Exception:
            # One message that fails must not end what all sockets of the process hear: they fetch instead
            log.exception("live: a message failed")
            await self.send_resync_to_sockets()

    async def _handle_hints(self, message: dict[str, Any]) -> None:
        rows = [(line_id, name, seq) for line_id, name, seq in message["hints"]]
        await self.send_hints_to_sockets(message["project"], rows)

    async def _handle_resync(self, message: dict[str, Any]) -> None:
        # What lost messages may have lost its groups, too
        await self.join_groups_again()
        await self.send_resync_to_sockets()

    async def _handle_line_revision(self, message: dict[str, Any]) -> None:
        self._sent.note_sent_revision(message["line"], message["what"], message["number"])
        await self.tell_line_revision(message["line"], message["what"], message["number"])

    async def _handle_person(self, message: dict[str, Any]) -> None:
        await self._send_frame_to_sockets(
            self._of_group.get(person_group_name(message["user"]), ()), NOTIFIED
        )

    async def _handle_presence_request(self, message: dict[str, Any]) -> None:
        for socket in list(self._of_group.get(line_group_name(message["line"]), ())):
            if socket.presence is not None:
                await socket.presence.announce()

    async def _handle_presence(self, message: dict[str, Any]) -> None:
        sockets = self._of_group.get(line_group_name(message["line"]), ())
        await self._send_frame_to_sockets(sockets, encoded_frame({"here": message["here"]}))

    # -- to the sockets ------------------------------------------------------------------------------------------

    async def send_hints_to_sockets(self, project_id: int, rows: Sequence[Row]) -> None:
        for audience, sockets in list(self._of_project.get(project_id, {}).items()):
            if frame := audience.frame_of_concerned_rows_or_none(rows):
                await self._send_frame_to_sockets(sockets, frame)

    async def tell_line_revision(self, line_id: int, what: str, number: int) -> None:
        sockets = self._of_group.get(line_group_name(line_id), ())
        await self._send_frame_to_sockets(sockets, encoded_frame({"line": what, "number": number}))

    async def send_resync_to_sockets(self) -> None:
        await self._send_frame_to_sockets(self._sockets, RESYNC)

    async def _send_frame_to_sockets(self, sockets: Collection[LiveSocket], frame: Frame) -> None:
        # A copy: sockets join and leave while the loop does something else.
        for place, socket in enumerate(list(sockets), start=1):
            socket.tell(frame)
            if place % AT_ONCE == 0:
                await asyncio.sleep(0)


Handler = Callable[[Audiences, dict[str, Any]], Awaitable[None]]
HANDLERS: Final[dict[str, Handler]] = {
    HINTS: Audiences._handle_hints,
    "live.resync": Audiences._handle_resync,
    "live.line": Audiences._handle_line_revision,
    "live.person": Audiences._handle_person,
    "live.who": Audiences._handle_presence_request,
    "live.here": Audiences._handle_presence,
}
