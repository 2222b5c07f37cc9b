"""Presence of people on the canvas of a line, and the part that each has chosen. It lives in the sockets
alone: each one reports again every few seconds, and anyone not heard of any more is gone, however they
went. A hint like any other: ids only, the names come over HTTP (house §4)."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, Final

EVERY: Final = 4.0
"""Seconds between two times of saying so. Clients forget after three of them."""
LOST: Final = 10.0
"""A page that said nothing for so long has no network any more; one in the background sleeps, and said so."""
MOST_BYTES: Final = 1_000
BURST: Final = 20
"""Messages of one page within a second; what is more is left out, and the next beat says it."""
KINDS: Final = frozenset(("station", "end", "rule", "gate"))
LONGEST_KEY: Final = 200
Tell = Callable[[dict[str, Any]], Awaitable[None]]


def parse_presence_or_none(text: str | None) -> dict[str, Any] | None:
    """Parse a presence message of a page: `{"here": {"chosen": {"kind", "key"} | null, "away": bool}}`.

    Returns None for anything else.
    """
    if text is None or len(text) > MOST_BYTES:
        return None
    try:
        message = json.loads(text)
    except ValueError:
        return None
    here = message.get("here") if isinstance(message, dict) else None
    if not isinstance(here, dict):
        return None
    chosen = here.get("chosen")
    if chosen is not None and not _is_canvas_part(chosen):
        return None
    # Made anew: nothing else of the message reaches other people.
    part = {"kind": chosen["kind"], "key": chosen["key"]} if chosen else None
    return {"chosen": part, "away": here.get("away") is True}


def _is_canvas_part(chosen: object) -> bool:
    if not isinstance(chosen, dict) or chosen.get("kind") not in KINDS:
        return False
    key = chosen.get("key")
    return isinstance(key, str) and 0 < len(key) <= LONGEST_KEY


class Presence:
    """Presence of one socket: the page's state, sent to the room when it changes and every few seconds."""

    def __init__(self, user_id: int, tell: Tell, clock: Callable[[], float] = time.monotonic) -> None:
        self._user_id, self._tell, self._clock = user_id, tell, clock
        self._socket = uuid.uuid4().hex[:12]
        self._here: dict[str, Any] | None = None
        self._heard = 0.0
        self._second, self._count = 0, 0
        self._beats: asyncio.Task[None] | None = None

    async def receive(self, text: str | None) -> None:
        """Receive a message of the page; anything but its own presence is ignored."""
        here = parse_presence_or_none(text)
        if here is None or self._is_flooding():
            return
        news = here != self._here or self._clock() - self._heard > LOST
        self._here, self._heard = here, self._clock()
        if self._beats is None:
            self._beats = asyncio.create_task(self._announce_periodically())
            # Whoever is here already says so, and the newcomer need not wait for their next beat.
            await self._tell({"type": "live.who"})
        if news:
            await self.announce()

    async def announce(self) -> None:
        if self._here is not None and self._is_alive():
            here = {"socket": self._socket, "user": self._user_id, **self._here}
            await self._tell({"type": "live.here", "here": here})

    async def leave(self) -> None:
        if self._beats is not None:
            self._beats.cancel()
            self._beats = None
            await self._tell({"type": "live.here", "here": {"socket": self._socket, "gone": True}})
        self._here = None

    def _is_alive(self) -> bool:
        away = self._here is not None and self._here["away"]
        return away or self._clock() - self._heard <= LOST

    def _is_flooding(self) -> bool:
        second = int(self._clock())
        self._count = self._count + 1 if second == self._second else 1
        self._second = second
        return self._count > BURST

    async def _announce_periodically(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            await self.announce()
