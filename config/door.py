"""How much may be sent to this server: said at its door, before a body is kept (docs/operating.md).

The web server below keeps a whole body on disk, and then in memory, before the application sees the first of it. So
what is too large is answered with 413 when its length is known, or as soon as more has come than may; what still comes
of it is read and dropped for a while, for who sends it to read the answer. What is under way together has a bound,
too."""

from __future__ import annotations

import json
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final

from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.server import Server
from django.conf import settings
from twisted.internet import reactor

from pipelines.work.transport.http import wire

FORM: Final = 1024 * 1024
"""Around the files of a form."""
TOGETHER: Final = 512 * 1024**2
"""Bytes of all bodies that are on their way in, or are worked on."""
LINGER: Final = 10.0
"""Seconds in which what still comes is dropped."""
RUNNERS: Final = "/api/v1/runner/"
RETRY: Final = 5


def most_of(path: str) -> int:
    """Bytes of the body that a request to this path may have."""
    if RUNNERS in path:
        return wire.MOST_DOCUMENT
    return max(wire.MOST_DOCUMENT, 2 * int(settings.UPLOAD_BYTES) + FORM)


@dataclass
class DoorRoom:
    """Of one process: what has come of all bodies that are not done with."""

    together: int = TOGETHER
    inside: int = 0

    def has_room(self, size: int) -> bool:
        return self.inside + size <= self.together


DOOR: Final = DoorRoom()


class BoundedRequest(WebRequest):
    """Keeps no more of a body than may be sent."""

    _most = _kept = 0
    _away = False

    def __init__(self, *given: Any, **named: Any) -> None:
        # The application reads the fields of a form by itself; below they were read for nobody.
        super().__init__(*given, parsePOSTFormSubmission=False, **named)

    def gotLength(self, length: int | None) -> None:  # noqa: N802  # as twisted names it
        self._most = most_of(bytes(getattr(self.channel, "_path", b"")).decode("latin-1"))
        said = length or 0
        super().gotLength(0 if said > self._most else length)
        if said > self._most:
            self._turn_away()
        elif not DOOR.has_room(said):
            self._turn_away(busy=True)

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802  # as twisted names it
        if self._away:
            return
        if self._kept + len(data) > self._most:
            self._turn_away()
        elif not DOOR.has_room(len(data)):
            self._turn_away(busy=True)
        else:
            self._kept += len(data)
            DOOR.inside += len(data)
            super().handleContentChunk(data)

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:  # noqa: N802  # as twisted names it
        if self._away:
            self.channel.loseConnection()
        else:
            super().requestReceived(command, path, version)

    def connectionLost(self, reason: Any) -> None:  # noqa: N802  # as twisted names it
        self._leave()
        super().connectionLost(reason)

    def finish(self) -> None:
        self._leave()
        super().finish()

    def _leave(self) -> None:
        DOOR.inside -= self._kept
        self._kept = 0

    def _turn_away(self, busy: bool = False) -> None:
        """Answer at once; and drop what still comes."""
        self._away = True
        self._leave()
        spooled: Any = self.content
        if spooled is not None:
            spooled.close()
        self.content: Any = BytesIO()
        self.channel.transport.write(answer(self._most, busy))
        clock: Any = reactor
        clock.callLater(LINGER, self.channel.transport.abortConnection)


def answer(most: int, busy: bool = False) -> bytes:
    """A problem that names the bound, as HTTP."""
    detail = (
        "Too much is being sent to this server at once. Try again in a few seconds."
        if busy
        else f"A request to this address may have at most {most // 1024**2} MB."
    )
    status, title = (503, "Service Unavailable") if busy else (413, "Content Too Large")
    body = json.dumps({"type": "about:blank", "title": title, "status": status, "detail": detail}).encode()
    head = [
        f"HTTP/1.1 {status} {title}",
        "Content-Type: application/problem+json",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "Connection: close",
        *([f"Retry-After: {RETRY}"] if busy else []),
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


class BoundedFactory(HTTPFactory):
    def log(self, request: Any) -> None:
        """Nothing: each request would be made a line for a log that nobody reads."""

    def buildProtocol(self, addr: Any) -> Any:  # noqa: N802  # as twisted names it
        made = super().buildProtocol(addr)
        made.requestFactory = BoundedRequest
        return made


class BoundedServer(Server):
    """The server makes its factory when it runs: here it gets ours."""

    _factory: Any = None

    @property
    def http_factory(self) -> Any:
        return self._factory

    @http_factory.setter
    def http_factory(self, made: Any) -> None:
        self._factory = BoundedFactory(self)
