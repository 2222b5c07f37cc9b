"""Web sockets of a client that only reads and answers pings. Of the standard library alone, so that a thousand of them
cost little beside the server's."""

from __future__ import annotations

import base64
import os
import socket
import struct
from typing import Final
from urllib.parse import urlsplit

from tests.waiting import LONG

TEXT: Final = 0x81
CLOSE: Final = 0x88
PING: Final = 0x89
PONG: Final = 0x8A


class PlainSocket:
    """A socket past its handshake. Raises OSError where it is refused, and when it has ended."""

    def __init__(self, address: str, cookie: str) -> None:
        at = urlsplit(address)
        self.socket = socket.create_connection((at.hostname, at.port), LONG)
        asked = (
            f"GET {at.path}?{at.query} HTTP/1.1",
            f"Host: {at.netloc}",
            f"Origin: http://{at.netloc}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
            f"Cookie: {cookie}",
        )
        self._rest = b""
        try:
            self.socket.sendall(("\r\n".join(asked) + "\r\n\r\n").encode())
            while b"\r\n\r\n" not in self._rest:
                self._rest += self._received()
            answer, _, self._rest = self._rest.partition(b"\r\n\r\n")
            if b" 101 " not in answer.splitlines()[0]:
                raise ConnectionRefusedError(answer.decode("latin-1"))
        except OSError:
            self.socket.close()
            raise
        self.socket.setblocking(False)

    def fileno(self) -> int:
        return self.socket.fileno()

    def texts(self) -> list[bytes]:
        """Messages that have come, whole."""
        try:
            data = self._received()
        except BlockingIOError:
            return []
        # Nearly always it is one short message
        if not self._rest and data[0] == TEXT and len(data) > 1 and len(data) == 2 + data[1]:
            return [data[2:]]
        data = self._rest + data
        found = []
        while len(data) >= 2:
            kind, start, size = data[0], 2, data[1]
            if size == 126:
                start, size = 4, int.from_bytes(data[2:4], "big")
            elif size == 127:
                start, size = 10, int.from_bytes(data[2:10], "big")
            if len(data) < start + size:
                break
            payload, data = data[start : start + size], data[start + size :]
            if kind == TEXT:
                found.append(payload)
            elif kind == PING:
                # Masked by zeros, which leaves it as it is
                self.socket.sendall(bytes((PONG, 0x80 | size, 0, 0, 0, 0)) + payload)
            elif kind == CLOSE:
                raise ConnectionResetError(f"closed: {payload!r}")
        self._rest = data
        return found

    def cut(self) -> None:
        """End it as a cable does: without a word."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def _received(self) -> bytes:
        data = self.socket.recv(1 << 16)
        if not data:
            raise ConnectionResetError("the server has ended it")
        return data
