"""A connection at the door: counted for its address, with a longest time for each request line and its headers
(config/request_bounds.py)."""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest
from twisted.internet import reactor
from twisted.web.http import HTTPChannel

from config.metrics import REFUSED
from config.request_capacity import (
    BUSY,
    LONG_HEADERS,
    LONG_LINE,
    SLOW,
    Capacity,
    Refusal,
    raise_connection_limit,
)
from pipelines.web.shell.rate_limits import rate_limit_key

CONNECTIONS: Final = Capacity(raise_connection_limit())
HEAD_SECONDS: Final = 20
"""Seconds in which a request line and its headers have come, from their first byte."""
LINGER: Final = 10.0
"""Seconds for which what still comes is dropped."""


class BoundedChannel(HTTPChannel):
    _is_counted = _is_head = False

    def connectionMade(self) -> None:  # noqa: N802  # as twisted names it
        super().connectionMade()
        # Behind a proxy all have its address, and it bounds them.
        self._is_counted = settings.TRUST_PROXY or CONNECTIONS.reserve(self.address_of(), 1)
        if not self._is_counted:
            self.refuse(BUSY)

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
            self.refuse(SLOW)
        else:
            super().timeoutConnection()

    def lineLengthExceeded(self, line: bytes) -> None:  # noqa: N802  # as twisted names it
        self.refuse(LONG_HEADERS if self._receivedHeaderSize else LONG_LINE)

    def _respondToBadRequestAndDisconnect(self) -> None:  # noqa: N802  # as twisted names it
        # Twisted calls this for headers that are too long, too, and would answer 400 for both.
        if self._receivedHeaderSize > self.totalHeadersSize:
            self.refuse(LONG_HEADERS)
        else:
            super()._respondToBadRequestAndDisconnect()

    def connectionLost(self, reason: Any = None) -> None:  # noqa: N802  # as twisted names it
        self.release_connection()
        super().connectionLost(reason)

    def release_connection(self) -> None:
        """Count it no more."""
        if self._is_counted and not settings.TRUST_PROXY:
            CONNECTIONS.free(self.address_of(), 1)
        self._is_counted = False

    def address_of(self, forwarded: str = "") -> str:
        """Name the share that it has: the address of the client, or the one that the proxy in front saw."""
        request = HttpRequest()
        request.META = {"REMOTE_ADDR": getattr(self.getPeer(), "host", ""), "HTTP_X_FORWARDED_FOR": forwarded}
        return str(rate_limit_key(request))

    def refuse(self, refusal: Refusal) -> None:
        """Answer, and drop what still comes, for who sends it to read the answer."""
        REFUSED.labels(refusal.status).inc()
        self.setTimeout(None)
        transport: Any = self.transport
        transport.write(refusal.answer())
        # Half-closed: closing with data unread sends a reset, which may discard the answer.
        transport.loseWriteConnection()
        self.setRawMode()
        self.rawDataReceived = lambda data: None  # type: ignore[method-assign]
        clock: Any = reactor
        clock.callLater(LINGER, transport.abortConnection)
