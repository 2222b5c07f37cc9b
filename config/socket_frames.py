"""Frames to sockets, written as they are: the same bytes for all that hear the same, without a task or an encoding for
each. What a client does not take is kept up to a bound; beyond, whoever sends is told, and sends it a snapshot's hint
later instead (pipelines/web/live/consumer.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from twisted.internet.tcp import Connection

MOST_BACKLOG: Final = 64 * 1024
"""Bytes that wait in this process for one client, besides what the system keeps for it."""


def frame_writer(protocol: Any) -> Callable[[bytes], bool]:
    """Return what writes a frame to this socket. It answers False where the client is behind, and never waits."""

    def write(frame: bytes) -> bool:
        transport = protocol.transport
        # Gone, or going: it misses nothing any more.
        if transport is None or protocol.state != protocol.STATE_OPEN:
            return True
        waiting = _unsent_byte_count(transport)
        if waiting > MOST_BACKLOG:
            return False
        if not waiting and not protocol.send_queue and _is_plain(transport):
            frame = _send_now_and_rest(transport, frame)
        if frame:
            transport.write(frame)
        return True

    return write


def _unsent_byte_count(transport: Any) -> int:
    data = getattr(transport, "dataBuffer", b"")
    return len(data) - getattr(transport, "offset", 0) + getattr(transport, "_tempDataLen", 0)


def _is_plain(transport: Any) -> bool:
    is_open = transport.connected and not transport.disconnecting
    return isinstance(transport, Connection) and not transport.TLS and bool(is_open)


def _send_now_and_rest(transport: Any, frame: bytes) -> bytes:
    """Return what the system does not take at once. Through the reactor each frame would be two changes of what it
    looks at, and a turn of its loop."""
    try:
        return frame[transport.socket.send(frame) :]
    # It takes nothing now, or is broken: then the reactor finds the same, and ends the connection.
    except OSError:
        return frame
