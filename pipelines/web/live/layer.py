"""Our Channels layer: groups in the process, PostgreSQL NOTIFY between processes.

Messages are hints: a full mailbox or a lost connection drops them and leaves one `{"type": "live.resync"}` instead.
"""

from __future__ import annotations

import asyncio
import json
import threading
import uuid
from collections import defaultdict, deque
from dataclasses import dataclass
from typing import Any

from channels.layers import BaseChannelLayer

from pipelines.models.plumbing.listener import Listener, default_conninfo
from pipelines.web.live.notifier import Notifier

RESYNC: dict[str, Any] = {"type": "live.resync"}
HINTS = "live.hints"
MOST = 1_000  # tasks that one message names; beyond, a new snapshot costs the page less
EVERYWHERE = "*"


class Mailbox:
    """Queue of messages for one channel, on the loop that reads it."""

    def __init__(self, capacity: int) -> None:
        self.loop = asyncio.get_running_loop()
        self._waiting: deque[dict[str, Any]] = deque()
        self._something = asyncio.Event()
        self._capacity = capacity

    def put(self, message: dict[str, Any]) -> None:
        """Add a message, on the loop of the mailbox. Waiting hints of one project become one message: where
        tasks move faster than can be told, each socket gets as many as there is time for, of the last version
        of every task."""
        waiting = self._waiting
        place = _place_of_hints_of_same_project_or_none(waiting, message)
        if place is not None:
            waiting[place] = _merge_hints(waiting[place], message)
        elif len(waiting) < self._capacity:
            waiting.append(message)
        else:
            self.drop_waiting()
        self._something.set()

    def drop_waiting(self) -> None:
        """Replace what waits by the request for a snapshot, which says all of it. On the loop of the mailbox."""
        self._waiting.clear()
        self._waiting.append(RESYNC)
        self._something.set()

    async def get(self) -> dict[str, Any]:
        while not self._waiting:
            self._something.clear()
            await self._something.wait()
        return self._waiting.popleft()


def _place_of_hints_of_same_project_or_none(
    waiting: deque[dict[str, Any]], message: dict[str, Any]
) -> int | None:
    """Return where hints of the same project wait already, behind everything that is of another kind."""
    if message["type"] != HINTS:
        return None
    for place in range(len(waiting) - 1, -1, -1):
        if waiting[place]["type"] != HINTS:
            return None
        if waiting[place].get("project") == message.get("project"):
            return place
    return None


def _merge_hints(first: dict[str, Any], then: dict[str, Any]) -> dict[str, Any]:
    newest = {(line, name): seq for line, name, seq in first["hints"]}
    for line, name, seq in then["hints"]:
        newest[line, name] = max(seq, newest.get((line, name), seq))
    if len(newest) > MOST:
        return RESYNC
    return {**then, "hints": [(line, name, seq) for (line, name), seq in newest.items()]}


def _put_in_mailboxes(mailboxes: list[Mailbox], message: dict[str, Any]) -> None:
    for mailbox in mailboxes:
        mailbox.put(message)


class PostgresLayer(BaseChannelLayer):
    """`dsn`: a direct address of the database (LISTEN cannot pass PgBouncer); None = Django's default database."""

    extensions = ["groups", "flush"]

    def __init__(
        self, dsn: str | None = None, topic: str = "gateline_live", capacity: int = 200, **options: Any
    ) -> None:
        super().__init__(capacity=capacity, **options)
        self._dsn, self._topic = dsn or None, topic
        self._origin = uuid.uuid4().hex[:12]
        self._lock = threading.Lock()
        self._mailboxes: dict[str, Mailbox] = {}
        self._groups: defaultdict[str, set[str]] = defaultdict(set)
        self._listener: Listener | None = None
        self._notifier: Notifier | None = None

    # -- channels ------------------------------------------------------------------------------------------------

    async def new_channel(self, prefix: str = "specific.") -> str:
        # By “!” Channels knows that one process alone reads it
        channel = f"{prefix}{self._origin}!{uuid.uuid4().hex}"
        self._listen()
        self._mailbox(channel)
        return channel

    async def receive(self, channel: str) -> dict[str, Any]:
        mailbox = self._mailbox(channel)
        try:
            return await mailbox.get()
        except (asyncio.CancelledError, GeneratorExit):
            # Channels cancels a receive only when its consumer ends: the channel is gone for good.
            self._forget(channel)
            raise

    async def send(self, channel: str, message: dict[str, Any]) -> None:
        self.require_valid_channel_name(channel)
        self._send(channel, message)

    # -- groups --------------------------------------------------------------------------------------------------

    async def group_add(self, group: str, channel: str) -> None:
        self.require_valid_group_name(group)
        with self._lock:
            self._groups[group].add(channel)

    async def group_discard(self, group: str, channel: str) -> None:
        with self._lock:
            self._discard(group, channel)

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        self.require_valid_group_name(group)
        self._send(group, message)

    async def flush(self) -> None:
        """Forget all groups and what waits. Channels stay: whoever reads one goes on to, and joins its groups again."""
        with self._lock:
            self._groups.clear()
            mailboxes = list(self._mailboxes.values())
        for mailbox in mailboxes:
            if not mailbox.loop.is_closed():
                mailbox.loop.call_soon_threadsafe(mailbox.drop_waiting)

    # -- between threads and processes ---------------------------------------------------------------------------

    @property
    def is_listening(self) -> bool:
        """Return whether messages of other processes arrive at this moment."""
        return self._listener is not None and self._listener.listening.is_set()

    def wait_until_listening_or_timeout(self, timeout: float = 5) -> bool:
        """Start to listen, and wait until messages of other processes arrive."""
        self._listen()
        return self._listener is not None and self._listener.listening.wait(timeout)

    def wait_until_sent(self, timeout: float) -> bool:
        """Wait until what was sent has reached PostgreSQL: for short commands, before they exit."""
        return self._notifier is None or self._notifier.wait_until_sent(timeout)

    def close(self) -> None:
        for end in (self._listener, self._notifier):
            if end is not None:
                end.stop()
        self._listener = self._notifier = None

    def _send(self, to: str, message: dict[str, Any]) -> None:
        parcel = Parcel(self._origin, to, message)
        # Before it is delivered: a message that is too large reaches nobody.
        payload = parcel.encode()
        self._deliver(parcel)
        with self._lock:
            if self._notifier is None:
                overflow = Parcel(self._origin, EVERYWHERE, RESYNC).encode()
                self._notifier = Notifier(self._conninfo(), self._topic, overflow)
        self._notifier.put(payload)

    def _deliver(self, parcel: Parcel) -> None:
        """Deliver a parcel from any thread: each loop is woken once, however many of its channels are
        addressed."""
        of_loop: defaultdict[asyncio.AbstractEventLoop, list[Mailbox]] = defaultdict(list)
        for mailbox in self._mailboxes_of(parcel.to):
            of_loop[mailbox.loop].append(mailbox)
        for loop, mailboxes in of_loop.items():
            # That of a command, or of a test, may have ended with its channels left behind
            if not loop.is_closed():
                loop.call_soon_threadsafe(_put_in_mailboxes, mailboxes, parcel.message)

    def _mailboxes_of(self, to: str) -> list[Mailbox]:
        with self._lock:
            if to == EVERYWHERE:
                return list(self._mailboxes.values())
            # What is no group is the name of a channel.
            channels = self._groups.get(to, {to})
            return [self._mailboxes[channel] for channel in channels if channel in self._mailboxes]

    def _receive_payload(self, payload: str) -> None:
        parcel = decoded_parcel_or_none(payload)
        # Messages of this process were delivered when they were sent.
        if parcel is not None and parcel.origin != self._origin:
            self._deliver(parcel)

    def _on_connected(self, again: bool) -> None:
        # What others sent while the connection was away is lost.
        if again:
            self._deliver(Parcel(self._origin, EVERYWHERE, RESYNC))

    def _listen(self) -> None:
        with self._lock:
            if self._listener is None:
                self._listener = Listener(
                    self._conninfo(), (self._topic,), self._receive_payload, self._on_connected
                )
                self._listener.start()

    def _conninfo(self) -> str:
        return self._dsn or default_conninfo()

    def _mailbox(self, channel: str) -> Mailbox:
        with self._lock:
            if channel not in self._mailboxes:
                self._mailboxes[channel] = Mailbox(self.get_capacity(channel))
            return self._mailboxes[channel]

    def _forget(self, channel: str) -> None:
        with self._lock:
            self._mailboxes.pop(channel, None)
            for group in [name for name, members in self._groups.items() if channel in members]:
                self._discard(group, channel)

    def _discard(self, group: str, channel: str) -> None:
        members = self._groups.get(group)
        if members is not None:
            members.discard(channel)
            if not members:
                del self._groups[group]


# Wire format between processes: one NOTIFY payload per group message, under PostgreSQL's 8,000 bytes.


LIMIT = 7_900  # PostgreSQL refuses payloads of 8,000 bytes


class MessageTooLarge(ValueError):
    """A live message must stay under 7,900 bytes: send ids and versions only."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """A message on its way to a group (or one channel); `origin` is the process that has delivered it already."""

    origin: str
    to: str
    message: dict[str, Any]

    def encode(self) -> str:
        text = json.dumps([self.origin, self.to, self.message], separators=(",", ":"))
        if len(text) > LIMIT:  # json.dumps answers ASCII: characters are bytes
            raise MessageTooLarge(f"{len(text)} bytes")
        return text


def decoded_parcel_or_none(payload: str) -> Parcel | None:
    """None for a payload that no process of ours wrote."""
    try:
        origin, to, message = json.loads(payload)
    except ValueError:
        return None
    if not (isinstance(origin, str) and isinstance(to, str) and isinstance(message, dict)):
        return None
    return Parcel(origin, to, message)
