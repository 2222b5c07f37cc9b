"""The one way out of a station that may reach some hosts only (house §5): an HTTP proxy on a socket of the file system.

It knows CONNECT and nothing else. Name and port have to be on the station's list, and the address that the name has is
checked as that of any outgoing call. What is said inside a connection is between the station and the host.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx2

from pipelines.work.outgoing.guard import Guard, RefusedAddress

MOST_CONNECTIONS: Final = 64
"""That a station has open at once."""
LONGEST_HEAD: Final = 8 * 1024
MOST_NOTES: Final = 50
"""Different refusals of one run that the log names."""
# Characters of the longest host name in DNS
LONGEST_NAME: Final = 253
CHUNK: Final = 64 * 1024
# CONNECT example.org:443 HTTP/1.1
REQUEST: Final = re.compile(rb"CONNECT ([!-~]{1,300}) HTTP/1\.[01]")
HEADER: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~\x80-\xff]*)")
# example.org:443, with no user, path or brackets in it
TARGET: Final = re.compile(r"([^:@/\\\[\]]+):([0-9]{1,5})")
# One part of a name: 63 characters at most, no hyphen at either end
LABEL: Final = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
# With a letter somewhere: digits and dots alone are an address
NAME: Final = re.compile(rf"(?=.*[a-z]){LABEL}(?:\.{LABEL})*")
METHOD: Final = re.compile(rb"[A-Z]{1,16} ")

Note = Callable[[str], Awaitable[None]]


class NotPassed(Exception):
    """Not let through. `status`: what the program is answered; the message: what it is told, and the log."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class ProxyLimits:
    """Seconds. `head`: until a request is complete; `idle`: in which nothing passes through a connection."""

    head: float = 10.0
    connect: float = 10.0
    idle: float = 900.0
    connections: int = MOST_CONNECTIONS


@dataclass
class HostProxy:
    """Proxy for one run of one station. `hosts`: (name, port), names in lower case. Use it as `async with`."""

    hosts: Collection[tuple[str, int]]
    guard: Guard
    note: Note
    limits: ProxyLimits = ProxyLimits()
    whose: str = "this station's list"
    _open: set[asyncio.Task[None]] = field(default_factory=set)
    _noted: set[str] = field(default_factory=set)
    _server: asyncio.AbstractServer | None = None

    async def listen(self, socket: Path) -> None:
        """:raises OSError: the socket cannot be made"""
        # `limit` is what makes readuntil raise LimitOverrunError for a longer head
        self._server = await asyncio.start_unix_server(self._serve_connection, socket, limit=LONGEST_HEAD)

    async def close(self) -> None:
        """No connection outlives it."""
        if self._server is not None:
            self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self._relay_to_listed_host(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass  # The program, or the host, is gone; or the station ended.
        finally:
            self._open.discard(task)
            # Not closed: that would wait until what is buffered was taken
            writer.transport.abort()

    async def _relay_to_listed_host(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            # The program on the other side is a station's, which may open any number
            if len(self._open) > self.limits.connections:
                raise NotPassed(BUSY, f"more than {self.limits.connections} connections at once")
            host, port = await self._read_listed_host_and_port(reader)
            upstream = await self._reader_and_writer_to_host(host, port)
        except NotPassed as refused:
            await self._refuse(writer, refused)
            return
        try:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await _relay_both_ways((reader, writer), upstream, self.limits.idle)
        finally:
            # At once: what a program did not take by then nobody waits for
            upstream[1].transport.abort()

    async def _read_listed_host_and_port(self, reader: asyncio.StreamReader) -> tuple[str, int]:
        """Name and port that are asked for, which are on the list."""
        try:
            async with asyncio.timeout(self.limits.head):
                head = await reader.readuntil(b"\r\n\r\n")
        except TimeoutError:
            raise NotPassed(SLOW, f"a request took more than {self.limits.head:g} s") from None
        except asyncio.LimitOverrunError:
            raise NotPassed(LARGE, f"a request has more than {LONGEST_HEAD} bytes") from None
        except asyncio.IncompleteReadError as error:
            if not error.partial:
                raise ConnectionResetError from None  # It was only tried whether anybody listens.
            raise NotPassed(BAD, "a request broke off") from None
        host, port = host_and_port_of_connect_request(head)
        if (host, port) not in self.hosts:
            raise NotPassed(FORBIDDEN, not_listed_message(host, port, self.hosts, self.whose))
        return host, port

    async def _reader_and_writer_to_host(
        self, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to the address that was checked."""
        try:
            async with asyncio.timeout(self.limits.connect):
                addresses = await self.guard.allowed_addresses(host, port)
        except RefusedAddress as error:
            # Package managers ask again for a minute after a 502, and end at once after a 403.
            raise NotPassed(FORBIDDEN, str(error)) from None
        except (httpx2.ConnectError, TimeoutError) as error:
            raise NotPassed(GATEWAY, str(error) or f"the host {host} could not be found in time") from None
        why = ""
        for address in addresses:
            try:
                async with asyncio.timeout(self.limits.connect):
                    return await asyncio.open_connection(address, port, limit=CHUNK)
            except (OSError, TimeoutError) as error:
                why = str(error) or "it did not answer in time"
        raise NotPassed(GATEWAY, f"host {host} does not answer on port {port}: {why}")

    async def _refuse(self, writer: asyncio.StreamWriter, refused: NotPassed) -> None:
        """Answer the program, and say once in the log why."""
        message = str(refused).rstrip(".")
        # A program may ask for another name each time: the log does not grow with that
        if message not in self._noted and len(self._noted) <= MOST_NOTES:
            self._noted.add(message)
            more = len(self._noted) > MOST_NOTES
            await self.note(f"Network: {'more was refused, which is not listed' if more else message}.")
        body = f"Gateline: {message}.\n".encode("ascii", "replace")
        head = f"HTTP/1.1 {refused.status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
        writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.limits.head):
                await writer.drain()
                writer.write_eof()
                await asyncio.sleep(0)


BAD, FORBIDDEN, ONLY_CONNECT = "400 Bad Request", "403 Forbidden", "405 Method Not Allowed"
SLOW, LARGE = "408 Request Timeout", "431 Request Header Fields Too Large"
GATEWAY, BUSY = "502 Bad Gateway", "503 Service Unavailable"


def host_and_port_of_connect_request(head: bytes) -> tuple[str, int]:
    """Name and port of a complete head. Only its first line says where to; a head that says something else besides is
    refused, since two readers of it could understand two things.

    :raises NotPassed: it is no CONNECT to a name"""
    # Without the two line ends that complete it
    first, *lines = head[:-4].split(b"\r\n")
    match = REQUEST.fullmatch(first)
    if match is None:
        # A program that sends plain HTTP through its proxy, as it does to every proxy
        if METHOD.match(first) and not first.startswith(b"CONNECT "):
            raise NotPassed(ONLY_CONNECT, "a request without TLS was refused; use https")
        raise NotPassed(BAD, "a request could not be read")
    host, port = parse_host_and_port(match[1].decode())
    for line in lines:
        header = HEADER.fullmatch(line)
        if header is None:
            raise NotPassed(BAD, f"a request to {host} could not be read")
        name, value = header[1].decode().lower(), header[2].decode("latin-1").strip()
        if name == "host" and value.lower().removesuffix(f":{port}").rstrip(".") != host:
            raise NotPassed(BAD, f"a request to {host} names another host besides")
        if name == "transfer-encoding" or (name == "content-length" and value != "0"):
            raise NotPassed(BAD, f"a request to {host} has a body")
    return host, port


def parse_host_and_port(target: str) -> tuple[str, int]:
    """:raises NotPassed: no `name:port`"""
    match = TARGET.fullmatch(target)
    host = match[1].lower().removesuffix(".") if match else ""
    if match is None or len(host) > LONGEST_NAME or not 0 < int(match[2]) < 65536:
        if target.startswith("["):
            raise NotPassed(
                FORBIDDEN, f"{target[:LONGEST_NAME]} is an address; hosts are reached by their names"
            )
        raise NotPassed(BAD, "a request could not be read")
    # What has no letter in its last part is an address, however it is written: 127.1, 0x7f000001.
    if NAME.fullmatch(host) is None or looks_like_address(host):
        raise NotPassed(FORBIDDEN, f"{host} is an address; hosts are reached by their names")
    return host, int(match[2])


def looks_like_address(host: str) -> bool:
    """Return whether programs take the host for an address (RFC 1123 §2.1; WHATWG URL, "ends in a number")."""
    last = host.rpartition(".")[2]
    return last.isdigit() or re.fullmatch(r"0x[0-9a-f]*", last) is not None


def not_listed_message(host: str, port: int, hosts: Collection[tuple[str, int]], whose: str) -> str:
    ports = sorted(other for name, other in hosts if name == host)
    if ports:
        listed = ", ".join(map(str, ports))
        return f"port {port} of host {host} is not in {whose}, which has port {listed}"
    return f"host {host} is not in {whose}"


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _relay_both_ways(one: Streams, other: Streams, idle: float) -> None:
    """Pass on what each says until both are done, or nothing passed for too long."""
    loop = asyncio.get_running_loop()
    # A list of one: both directions write into it
    last_activity = [loop.time()]
    both = (_relay_one_way(one[0], other[1], last_activity), _relay_one_way(other[0], one[1], last_activity))
    copying = [asyncio.create_task(coroutine) for coroutine in both]
    try:
        while True:
            left = last_activity[0] + idle - loop.time()
            if left <= 0:
                return
            done, waiting = await asyncio.wait(copying, timeout=left)
            if not waiting:
                await asyncio.gather(*done)
                return
    finally:
        for task in copying:
            task.cancel()
        await asyncio.gather(*copying, return_exceptions=True)


async def _relay_one_way(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, last_activity: list[float]
) -> None:
    loop = asyncio.get_running_loop()
    while data := await reader.read(CHUNK):
        last_activity[0] = loop.time()
        writer.write(data)
        await writer.drain()
        # Again: that a slow receiver took something is activity, too
        last_activity[0] = loop.time()
    # Only this direction ends: the other one may still have something to say
    if writer.can_write_eof():
        writer.write_eof()
