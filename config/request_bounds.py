"""Bounds of size and pace on what is sent to this server, held before a body is kept (docs/operating.md).

The web server below keeps a whole body on disk, and then in memory, before the application sees the first of it. So
what is too large is answered with 413 when its length is known, or as soon as more has come than may; what still comes
of it is read and dropped for a while, for who sends it to read the answer. Who is neither signed in nor sends a valid
token (`config/request_callers.py`) may send little. What is under way together has a bound, a share for each person
and each address, a least pace and an end; connections have a share for each address."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from io import BytesIO
from typing import Any, Final

from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.server import twisted_loop
from django.conf import settings
from django.http import HttpRequest
from twisted.internet import reactor
from twisted.web.http import HTTPChannel

from config.metrics import REFUSED
from config.request_callers import (
    Credential,
    find_caller_in_database,
    remembered_caller_or_none,
    request_credential_or_none,
)
from config.request_capacity import (
    BUSY,
    FULL,
    LONG_HEADERS,
    LONG_LINE,
    REFUSED_TOKEN,
    SLOW,
    STRANGER,
    Capacity,
    Refusal,
    raise_file_limit_for_connections,
    too_large_refusal,
)
from config.response_pace import PacedServer
from config.socket_frames import frame_writer
from pipelines.web.live.consumer import FRAMES
from pipelines.web.shell.rate_limits import rate_limit_key
from pipelines.work.file_measure import is_no_room_left
from pipelines.work.transport.http import wire_format

# A connection at the door: counted for its address, with a longest time for each request line and its headers
# (config/request_bounds.py).


CONNECTIONS: Final = Capacity(raise_file_limit_for_connections())
HEAD_SECONDS: Final = 20
"""Seconds in which a request line and its headers have come, from their first byte."""
FIRST_LOOK_SECONDS: Final = 1.0
"""From the first connection to the first look at connections."""
LINGER: Final = 10.0
"""Seconds for which what still comes is dropped."""


class BoundedChannel(HTTPChannel):
    _is_counted = _is_head = False

    def connectionMade(self) -> None:  # noqa: N802  # as twisted names it
        super().connectionMade()
        # Behind a proxy all have its address, and it bounds them.
        self._is_counted = settings.TRUST_PROXY or CONNECTIONS.try_to_reserve(self.address_of_client(), 1)
        if not self._is_counted:
            self.answer_refusal_and_drop(BUSY)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802  # as twisted names it
        if self.line_mode and not self._is_head:
            self._is_head = True
            self.setTimeout(HEAD_SECONDS)
        super().dataReceived(data)

    def resetTimeout(self) -> None:  # noqa: N802  # as twisted names it
        # Twisted would restart the time-out with all that comes: slow headers would have no end.
        if not self._is_head:
            super().resetTimeout()

    def allHeadersReceived(self) -> None:  # noqa: N802  # as twisted names it
        self._is_head = False
        self.setTimeout(self.factory.timeOut)
        super().allHeadersReceived()

    def timeoutConnection(self) -> None:  # noqa: N802  # as twisted names it
        if self._is_head:
            self.answer_refusal_and_drop(SLOW)
        else:
            super().timeoutConnection()

    def lineLengthExceeded(self, line: bytes) -> None:  # noqa: N802  # as twisted names it
        self.answer_refusal_and_drop(LONG_HEADERS if self._receivedHeaderSize else LONG_LINE)

    def _respondToBadRequestAndDisconnect(self) -> None:  # noqa: N802  # as twisted names it
        # Twisted calls this for headers that are too long, too, and would answer 400 for both.
        if self._receivedHeaderSize > self.totalHeadersSize:
            self.answer_refusal_and_drop(LONG_HEADERS)
        else:
            super()._respondToBadRequestAndDisconnect()

    def connectionLost(self, reason: Any = None) -> None:  # noqa: N802  # as twisted names it
        self.release_connection()
        super().connectionLost(reason)

    def release_connection(self) -> None:
        """Count it no more."""
        if self._is_counted and not settings.TRUST_PROXY:
            CONNECTIONS.free(self.address_of_client(), 1)
        self._is_counted = False

    def address_of_client(self, forwarded: str = "") -> str:
        """Name the share that it has: the address of the client, or the one that the proxy in front saw."""
        request = HttpRequest()
        request.META = {"REMOTE_ADDR": getattr(self.getPeer(), "host", ""), "HTTP_X_FORWARDED_FOR": forwarded}
        return str(rate_limit_key(request))

    def answer_refusal_and_drop(self, refusal: Refusal) -> None:
        """Answer, and drop what still comes, for who sends it to read the answer."""
        REFUSED.labels(refusal.status).inc()
        self.setTimeout(None)
        transport: Any = self.transport
        transport.write(refusal.http_response_bytes())
        # Half-closed: closing with data unread sends a reset, which may discard the answer.
        transport.loseWriteConnection()
        self.setRawMode()
        self.rawDataReceived = lambda data: None  # type: ignore[method-assign]
        clock: Any = reactor
        clock.callLater(LINGER, transport.abortConnection)


FORM: Final = 1024 * 1024
"""Bytes around the files of a form."""
RUNNERS: Final = "/api/v1/runner/"


def max_body_bytes(path: str) -> int:
    """Bytes of the body that a request to this path may have."""
    if RUNNERS in path:
        return wire_format.MOST_DOCUMENT
    return max(wire_format.MOST_DOCUMENT, 2 * int(settings.UPLOAD_BYTES) + FORM)


MOST_OF_STRANGERS: Final = 1024 * 1024
"""Bytes of a body from somebody who is neither signed in nor sends a valid token."""
PEOPLE: Final = Capacity(max(512 * 1024**2, 4 * max_body_bytes("")))
"""Bytes of all bodies of people and tokens that are on their way in, or are worked on."""
STRANGERS: Final = Capacity(32 * 1024**2)
"""The same of everybody else."""
LOOKED_UP: Final = Capacity(100)
"""Credentials that wait to be looked up."""
LEAST_PACE: Final = 4096
"""Bytes a second of a body, over each `PACE_SECONDS`."""
PACE_SECONDS: Final = 10.0
BODY_SECONDS: Final = 600.0
"""Seconds in which a body has come whole."""
_LOOKING: Final = ThreadPoolExecutor(1, thread_name_prefix="door")


class BoundedRequest(WebRequest):
    """Keeps no more of a body than may be sent."""

    _most = _size = _size_before = 0
    _is_away = _is_looked_up = False
    _began: float | None = None
    """Time of the monotonic clock; None: no body is on its way in."""
    _caller: str | None = None
    _address = ""
    _since = 0.0

    def __init__(self, *words: Any, **options: Any) -> None:
        # The application reads the fields of a form by itself; below they were read for nobody.
        super().__init__(*words, parsePOSTFormSubmission=False, **options)

    def gotLength(self, length: int | None) -> None:  # noqa: N802  # as twisted names it
        path = bytes(getattr(self.channel, "_path", b"")).decode("latin-1")
        self._most, announced = max_body_bytes(path), length or 0
        if length == 0:
            super().gotLength(length)
            return
        self._began = self._since = time.monotonic()
        session = self.received_cookies.get(settings.SESSION_COOKIE_NAME.encode(), b"")
        credential = request_credential_or_none(
            path, self._last_header(b"Authorization"), session.decode("latin-1")
        )
        self._caller = remembered_caller_or_none(credential) if credential else None
        self._address = (
            "" if self._caller else self.channel.address_of_client(self._last_header(b"X-Forwarded-For"))
        )
        with self._answering_full_disk():
            # For a large length Twisted opens a file on disk, for 0 a buffer in memory.
            super().gotLength(0 if announced > self._most else length)
        if self._is_away:
            return
        if announced > self._most:
            self._answer_refusal_and_drop(too_large_refusal(self._most))
        # A small body needs no look-up: anybody may send it. None: in chunks, of unknown length.
        elif credential and not self._caller and (length is None or length > STRANGERS.small_share):
            self._wait_for_caller(credential)
        elif announced > self._most_body_bytes:
            self._answer_refusal_and_drop(STRANGER)
        elif not self._capacity_of_caller.has_room(self._sender, announced):
            self._answer_refusal_and_drop(BUSY)

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802  # as twisted names it
        if self._is_away:
            return
        if self._size + len(data) > self._most_body_bytes:
            self._answer_refusal_and_drop(too_large_refusal(self._most) if self._caller else STRANGER)
        elif not self._capacity_of_caller.try_to_reserve(self._sender, len(data)):
            self._answer_refusal_and_drop(BUSY)
        else:
            self._size += len(data)
            with self._answering_full_disk():
                super().handleContentChunk(data)

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:  # noqa: N802  # as twisted names it
        self._began = None
        if not self._is_away:
            with self._answering_full_disk():
                self.content.flush()
        if self._is_away:
            self.channel.loseConnection()
        else:
            super().requestReceived(command, path, version)

    def process(self) -> Any:
        done = super().process()
        if self.transport is None:
            # A socket has the connection now: nothing else would say that this request is over.
            self._release_room()
            self.channel.release_connection()
        return done

    def check_timeouts(self) -> None:
        """End a body that comes too slowly, or for too long. Called every other second."""
        now = time.monotonic()
        if self._began is None:
            super().check_timeouts()
        elif self._is_looked_up:
            # The transport is paused meanwhile: that nothing comes is not the sender's fault.
            self._since = now
        elif now - self._began > BODY_SECONDS:
            self._answer_refusal_and_drop(SLOW)
        elif now - self._since >= PACE_SECONDS:
            if self._size - self._size_before < LEAST_PACE * (now - self._since):
                self._answer_refusal_and_drop(SLOW)
            self._since, self._size_before = now, self._size

    def handle_exception(self, exception: Exception) -> None:
        if is_no_room_left(exception) and not self._response_started:
            self._answer_refusal_and_drop(FULL)
        else:
            super().handle_exception(exception)

    def connectionLost(self, reason: Any) -> None:  # noqa: N802  # as twisted names it
        self._release_room()
        super().connectionLost(reason)

    def finish(self) -> None:
        self._release_room()
        super().finish()

    @property
    def _capacity_of_caller(self) -> Capacity:
        return PEOPLE if self._caller else STRANGERS

    @property
    def _sender(self) -> str:
        return self._caller or self._address

    @property
    def _most_body_bytes(self) -> int:
        return self._most if self._caller else MOST_OF_STRANGERS

    def _last_header(self, name: bytes) -> str:
        return (self.requestHeaders.getRawHeaders(name) or [b""])[-1].decode("latin-1")

    def _wait_for_caller(self, credential: Credential) -> None:
        """Let the body wait until it is known whose it is."""
        address = self._address
        if not LOOKED_UP.try_to_reserve(address, 1):
            self._answer_refusal_and_drop(BUSY)
            return
        # What has come by then is little, and not to be refused for what others at this address send.
        self._address = f"{address} {id(self)}"
        transport = self.channel.transport
        transport.pauseProducing()
        self._is_looked_up = True

        def answer(future: asyncio.Future[str | None]) -> None:
            LOOKED_UP.free(address, 1)
            self._is_looked_up = False
            transport.resumeProducing()
            if self._began is None:
                # Lost, refused or complete while it was looked up
                return
            if future.exception():
                self._answer_refusal_and_drop(BUSY)
            elif caller := future.result():
                self._capacity_of_caller.free(self._sender, self._size)
                # _room and _sender follow _caller: from the strangers' room to the people's.
                self._caller = caller
                if not self._capacity_of_caller.try_to_reserve(self._sender, self._size):
                    self._size = 0
                    self._answer_refusal_and_drop(BUSY)
            else:
                self._answer_refusal_and_drop(REFUSED_TOKEN if credential.is_token else STRANGER)

        twisted_loop.run_in_executor(_LOOKING, find_caller_in_database, credential).add_done_callback(answer)

    @contextmanager
    def _answering_full_disk(self) -> Iterator[None]:
        """Answer with 507 where a disk is full, which is no failure of the server."""
        try:
            yield
        except OSError as error:
            if not is_no_room_left(error):
                raise
            self._answer_refusal_and_drop(FULL)

    def _release_room(self) -> None:
        self._began = None
        if self._size:
            self._capacity_of_caller.free(self._sender, self._size)
            self._size = 0

    def _answer_refusal_and_drop(self, refusal: Refusal) -> None:
        """Answer at once; and drop what still comes."""
        self._is_away = True
        self._release_room()
        spooled: Any = self.content
        if spooled is not None:
            with suppress(OSError):  # what a full disk did not take is written once more
                spooled.close()
        self.content: Any = BytesIO()
        self.channel.answer_refusal_and_drop(refusal)


class BoundedFactory(HTTPFactory):
    protocol = BoundedChannel
    server: BoundedServer

    def log(self, request: Any) -> None:
        """Nothing: each request would be made a line for a log that nobody reads."""

    def _updateLogDateTime(self) -> None:  # noqa: N802  # as twisted names it
        """Nothing, for the same reason: it would wake an idle process each second."""

    def buildProtocol(self, addr: Any) -> Any:  # noqa: N802  # as twisted names it
        self.server.resume_checks()
        channel = super().buildProtocol(addr)
        channel.requestFactory = BoundedRequest
        return channel


class BoundedServer(PacedServer):
    """The server makes its factory when it runs: here it gets ours."""

    _factory: Any = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._resting: list[Callable[[], None]] = []
        super().__init__(*arguments, **options)

    @property
    def http_factory(self) -> Any:
        return self._factory

    @http_factory.setter
    def http_factory(self, factory: Any) -> None:
        self._factory = BoundedFactory(self)

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        if scope["type"] == "websocket":
            scope.setdefault("extensions", {})[FRAMES] = frame_writer(protocol)
        return super().create_application(protocol, scope)

    def application_checker(self) -> None:
        """Look after the applications each second while there is a connection."""
        self._check_if_connected(super().application_checker, self.application_checker)

    def timeout_checker(self) -> None:
        self._check_if_connected(super().timeout_checker, self.timeout_checker)

    def _check_if_connected(self, check: Callable[[], None], again: Callable[[], None]) -> None:
        if self.connections:
            check()
        else:
            self._resting.append(again)

    def resume_checks(self) -> None:
        """Look again soon: a connection begins."""
        for check in self._resting:
            twisted_loop.call_later(FIRST_LOOK_SECONDS, check)
        self._resting.clear()
