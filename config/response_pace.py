"""The pace of long answers: the next piece is asked for once the connection has taken the ones before. The web server
below takes all that it is given, and would keep a download in memory for a slow reader."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from daphne.server import Server

SLOWEST_SECONDS: Final = 300.0
"""In which a reader has to take something."""


class PacedProducer:
    """Producer of one answer, which twisted asks to pause while the connection has enough to send."""

    def __init__(self) -> None:
        self._is_free = asyncio.Event()
        self._is_free.set()

    def pauseProducing(self) -> None:  # noqa: N802  # as twisted names it
        self._is_free.clear()

    def resumeProducing(self) -> None:  # noqa: N802  # as twisted names it
        self._is_free.set()

    def stopProducing(self) -> None:  # noqa: N802  # as twisted names it
        self._is_free.set()

    async def wait_until_writable(self) -> bool:
        """Wait until more can be sent; False where the reader takes nothing."""
        try:
            await asyncio.wait_for(self._is_free.wait(), SLOWEST_SECONDS)
        except TimeoutError:
            return False
        return True


class PacedServer(Server):
    """A server whose applications wait for their readers."""

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        is_piece = message["type"] == "http.response.body" and not protocol.finished and protocol.channel
        if is_piece and not message.get("more_body", False):
            if protocol.producer is not None:
                protocol.unregisterProducer()
        elif is_piece and protocol.producer is None:
            protocol.registerProducer(PacedProducer(), True)
        await super().handle_reply(protocol, message)
        producer = getattr(protocol, "producer", None)
        if (
            isinstance(producer, PacedProducer)
            and not await producer.wait_until_writable()
            and protocol.channel
        ):
            protocol.channel.forceAbortClient()
