"""The proxy of a station's hosts: what it lets through, what it refuses, and what the log says of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pipelines.work.outgoing.guard import Guard
from pipelines.work.outgoing.proxy import HostProxy, NotPassed, ProxyLimits, host_and_port_of_connect_request
from tests.waiting import LONG

HOSTS = frozenset({("good.test", 443)})
QUICK = ProxyLimits(head=0.3, connect=1, idle=0.3, connections=3)


class Door:
    """A proxy that listens, and a server that echoes behind every name."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self.notes: list[str] = []
        self.looked_up: list[str] = []
        self.reached = 0

    async def note(self, text: str) -> None:
        self.notes.append(text)

    async def ask(self, sent: bytes) -> bytes:
        """All that is answered until the proxy closes, or falls silent."""
        reader, writer = await asyncio.open_unix_connection(self.socket)
        try:
            writer.write(sent)
            async with asyncio.timeout(LONG):
                return await reader.read()
        finally:
            writer.transport.abort()


@asynccontextmanager
async def door(tmp_path: Path, *hosts: str, limits: ProxyLimits = QUICK) -> AsyncIterator[Door]:
    made = Door(tmp_path / "proxy")

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        made.reached += 1
        while data := await reader.read(1000):
            writer.write(data.upper())
        writer.close()

    async def resolve(host: str, port: int) -> list[str]:
        made.looked_up.append(host)
        return ["127.0.0.1"]

    async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        listed = frozenset({*HOSTS, *((host, port) for host in hosts)})
        proxy = HostProxy(listed, Guard(("inside.test",), resolve), made.note, limits)
        await proxy.listen(made.socket)
        made.port = port  # type: ignore[attr-defined]
        try:
            yield made
        finally:
            await proxy.close()


async def test_a_listed_host_is_reached(tmp_path: Path) -> None:
    async with door(tmp_path, "inside.test") as made:
        reader, writer = await asyncio.open_unix_connection(made.socket)
        name = f"Inside.Test.:{made.port}"  # type: ignore[attr-defined]
        writer.write(f"CONNECT {name} HTTP/1.1\r\nHost: {name}\r\nUser-Agent: x\r\n\r\n".encode())
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 200 Connection established\r\n\r\n"
        writer.write(b"hello")
        assert await reader.readexactly(5) == b"HELLO"
        writer.write_eof()
        assert await reader.read() == b""
        writer.transport.abort()
    assert (made.notes, made.looked_up) == ([], ["inside.test"])


@pytest.mark.parametrize(
    ("sent", "status", "said"),
    [
        (
            b"CONNECT example.test:443 HTTP/1.1\r\n\r\n",
            403,
            "host example.test is not in this station's list",
        ),
        (
            b"CONNECT good.test:22 HTTP/1.1\r\n\r\n",
            403,
            "port 22 of host good.test is not in this station's list, which has port 443",
        ),
        (b"CONNECT 127.0.0.1:443 HTTP/1.1\r\n\r\n", 403, "127.0.0.1 is an address"),
        (b"CONNECT 2130706433:443 HTTP/1.1\r\n\r\n", 403, "2130706433 is an address"),
        (b"CONNECT 0x7f.1:443 HTTP/1.1\r\n\r\n", 403, "0x7f.1 is an address"),
        (b"CONNECT [::1]:443 HTTP/1.1\r\n\r\n", 403, "[::1]:443 is an address"),
        (b"CONNECT good.test:443 HTTP/1.1\r\nHost: evil.test\r\n\r\n", 400, "names another host besides"),
        (b"CONNECT good.test:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 400, "has a body"),
        (b"CONNECT good.test:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 400, "has a body"),
        (b"CONNECT good.test:443 HTTP/1.1\r\n X: folded\r\n\r\n", 400, "could not be read"),
        (b"CONNECT good.test:443 HTTP/1.1\nHost: evil.test\r\n\r\n", 400, "could not be read"),
        (b"CONNECT  good.test:443 HTTP/1.1\r\n\r\n", 400, "could not be read"),
        (b"CONNECT me@good.test:443 HTTP/1.1\r\n\r\n", 400, "could not be read"),
        (b"CONNECT evil.test:443/good.test:443 HTTP/1.1\r\n\r\n", 400, "could not be read"),
        (b"CONNECT good.test\x00.evil.test:443 HTTP/1.1\r\n\r\n", 400, "could not be read"),
        (b"GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n", 405, "use https"),
        (b"\x16\x03\x01\x02\r\n\r\n", 400, "could not be read"),
        (b"CONNECT good.test:443 HTTP/1.1\r\nX: " + b"x" * 9000, 431, "more than 8192 bytes"),
    ],
)
async def test_anything_else_is_refused_and_named(
    sent: bytes, status: int, said: str, tmp_path: Path
) -> None:
    async with door(tmp_path) as made:
        answer = await made.ask(sent)
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert said.encode() in answer
    (note,) = made.notes
    assert note.startswith("Network: ") and said in note
    assert (made.looked_up, made.reached) == ([], 0), "nothing is looked up for what is refused"


async def test_a_listed_name_with_a_private_address_is_refused(tmp_path: Path) -> None:
    async with door(tmp_path) as made:
        answer = await made.ask(b"CONNECT good.test:443 HTTP/1.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 403 "), "after a 502 package managers ask again for a minute"
    assert b"The host good.test has the private address 127.0.0.1" in answer
    assert made.notes[0].endswith(" in GATELINE_PRIVATE_HOSTS.") and answer.endswith(b"_PRIVATE_HOSTS.\n")


async def test_what_follows_a_refused_request_is_not_read(tmp_path: Path) -> None:
    async with door(tmp_path, "inside.test") as made:
        second = f"CONNECT inside.test:{made.port} HTTP/1.1\r\n\r\n".encode()  # type: ignore[attr-defined]
        answer = await made.ask(b"CONNECT example.test:443 HTTP/1.1\r\n\r\n" + second)
    assert answer.count(b"HTTP/1.1") == 1 and made.reached == 0


async def test_a_second_request_inside_a_connection_goes_to_the_same_host(tmp_path: Path) -> None:
    async with door(tmp_path, "inside.test") as made:
        first = f"CONNECT inside.test:{made.port} HTTP/1.1\r\n\r\n".encode()  # type: ignore[attr-defined]
        answer = await made.ask(first + b"connect example.test:443 HTTP/1.1\r\n\r\n")
    assert answer.endswith(b"CONNECT EXAMPLE.TEST:443 HTTP/1.1\r\n\r\n")
    assert made.looked_up == ["inside.test"]


async def test_slow_and_silent_programs_are_cut_off(tmp_path: Path) -> None:
    async with door(tmp_path, "inside.test") as made:
        answer = await made.ask(b"CONNECT good.test:443 HTT")
        assert answer.startswith(b"HTTP/1.1 408 ")
        name = f"inside.test:{made.port}"  # type: ignore[attr-defined]
        idle = await made.ask(f"CONNECT {name} HTTP/1.1\r\n\r\n".encode())
        assert idle == b"HTTP/1.1 200 Connection established\r\n\r\n", "and then it is closed"


async def test_connections_and_notes_are_bounded(tmp_path: Path) -> None:
    limits = ProxyLimits(head=5, connections=3)
    async with door(tmp_path, limits=limits) as made:
        held = [await asyncio.open_unix_connection(made.socket) for _ in range(3)]
        answer = await made.ask(b"CONNECT good.test:443 HTTP/1.1\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 503 ") and "more than 3 connections" in made.notes[0]
        for _reader, writer in held:
            writer.transport.abort()
    async with door(tmp_path / "..") as made:
        for number in range(60):
            await made.ask(f"CONNECT host{number}.test:443 HTTP/1.1\r\n\r\n".encode())
        assert len(made.notes) == 51 and "more was refused" in made.notes[-1]
        await made.ask(b"CONNECT host0.test:443 HTTP/1.1\r\n\r\n")
        assert len(made.notes) == 51, "the same is noted once"


@pytest.mark.parametrize(
    "target", ["good.test:0", "good.test:65536", "good.test", ":443", "a..b:443", "-a.test:443"]
)
def test_no_target_is_guessed(target: str) -> None:
    with pytest.raises(NotPassed):
        host_and_port_of_connect_request(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
