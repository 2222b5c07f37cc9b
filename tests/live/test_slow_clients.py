"""A client that does not read what it is sent is told to fetch everything later, and nobody waits for it."""

from __future__ import annotations

import base64
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import quote, urlsplit

import pytest
from django.conf import settings

from pipelines.ports.observers import Hint
from pipelines.web.live import hints
from tests.factories import World
from tests.fixtures.site import Site
from tests.live.conftest import session_of
from tests.waiting import LONG, until

pytestmark = pytest.mark.django_db(transaction=True)
MANY = 60_000
"""Hints, of a hundred bytes each: more than the system and the process keep for one client."""


@contextmanager
def opened(site: Site, world: World, session: str, buffer: int = 0) -> Iterator[socket.socket]:
    """A plain socket after its handshake; `buffer`: bytes that the system keeps for it."""
    place = urlsplit(site.url)
    with socket.socket() as client:
        if buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        client.settimeout(LONG)
        client.connect((place.hostname, place.port))
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            f"GET /live/?project={quote(str(world.project))} HTTP/1.1",
            f"Host: {place.netloc}",
            f"Origin: {site.url}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {key}",
            f"Cookie: {settings.SESSION_COOKIE_NAME}={session}",
        ]
        client.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += client.recv(1)
        assert b" 101 " in answer, answer
        yield client


def heard(client: socket.socket, wanted: bytes) -> bytes:
    """What comes until these bytes have come."""
    found = bytearray()
    client.settimeout(1)

    def is_there() -> bool:
        with suppress(TimeoutError):
            found.extend(client.recv(1 << 20))
        return wanted in found

    until(is_there, lambda: repr(bytes(found[-300:])))
    return bytes(found)


def test_a_client_that_does_not_read_misses_hints_and_is_told_to_fetch(site: Site, world: World) -> None:
    project, session = world.project.pk, session_of(world.viewer)
    with (
        opened(site, world, session, buffer=4096) as slow,
        opened(site, world, session) as quick,
    ):
        name, told = "WI-" + "long" * 15, 0
        for number in range(0, MANY, 50):
            rows = [Hint(project, 1, f"{name}-{number + place}", 1) for place in range(50)]
            hints.push_hints(rows)
            if number % 1_000 == 950:
                # Each as a message of its own: else they were merged
                assert hints.sender.wait_until_sent(LONG)
                heard(quick, f'"{name}-{number + 49}"'.encode())
                told += 1
        assert told == MANY // 1_000
        hints.push_hints([Hint(project, 1, "WI-last-1", 1)])
        # Before the slow one has read anything: nobody waits for who is slow
        heard(quick, b'"WI-last-1"')
        # Now it reads as fast as any: through the small buffer it would take nearly a minute
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        everything = heard(slow, json.dumps({"resync": True}, separators=(",", ":")).encode())
        assert b'"WI-last-1"' not in everything, "it was behind"
        hints.push_hints([Hint(project, 1, "WI-after-1", 1)])
        heard(slow, b'"WI-after-1"')
