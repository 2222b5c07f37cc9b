"""Clients that wish a server ill, over real sockets on loopback: `python -m proof.soak.attackers PORT SECONDS` prints
one JSON object {kind: {first line of an answer: count}}."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from typing import Final

PIECE: Final = bytes(256 * 1024)
UPLOAD: Final = "/api/v1/runner/6a3f0f8e-6f0a-4b7e-9d0f-5e6b6f2c9a10/jobs/1/files/" + "0" * 64
ADDRESSES: Final = 8
LARGEST: Final = 101 * 1024**2 - 1
HEAD_START: Final = 6.0
"""Seconds after which the others join those that hold large bodies."""
Answers = defaultdict[str, Counter[str]]
Pieces = Callable[[], AsyncIterator[bytes]]


def head(method: str, path: str, *lines: str) -> bytes:
    return "\r\n".join((f"{method} {path} HTTP/1.1", "Host: localhost", *lines, "", "")).encode()


async def held(path: str, size: int) -> AsyncIterator[bytes]:
    """Send a body to its last byte but one as fast as it is taken, and then nothing more for a long time."""
    yield head("POST", path, f"Content-Length: {size + 1}")
    for _ in range(size // len(PIECE)):
        yield PIECE
    yield PIECE[: size % len(PIECE)]
    while True:
        await asyncio.sleep(5)
        yield b""


async def open_ended(path: str, size: int) -> AsyncIterator[bytes]:
    """The same without a length, in chunks."""
    yield head("POST", path, "Transfer-Encoding: chunked")
    for length in [len(PIECE)] * (size // len(PIECE)) + [size % len(PIECE)]:
        yield f"{length:x}\r\n".encode() + PIECE[:length] + b"\r\n"
    while True:
        await asyncio.sleep(5)
        yield b""


def large_body() -> AsyncIterator[bytes]:
    return held("/sign-in/", LARGEST)


def remainder() -> AsyncIterator[bytes]:
    """Fill what five large bodies leave of 512 MB, to the last byte."""
    return open_ended("/sign-in/", 512 * 1024**2 - 5 * LARGEST)


async def endless_body() -> AsyncIterator[bytes]:
    yield head("PUT", UPLOAD, "Transfer-Encoding: chunked")
    while True:
        yield f"{len(PIECE):x}\r\n".encode() + PIECE + b"\r\n"


async def slow_body() -> AsyncIterator[bytes]:
    """Fill what others left: nearly all of it at once, and then 100 bytes a second."""
    yield head("POST", "/sign-in/", f"Content-Length: {1024**2}")
    for _ in range(15):
        yield bytes(64 * 1024)
    while True:
        await asyncio.sleep(1)
        yield b"x" * 100


async def slow_head() -> AsyncIterator[bytes]:
    yield b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
    while True:
        await asyncio.sleep(1)
        yield b"x"


async def slow_line() -> AsyncIterator[bytes]:
    yield b"GET /"
    while True:
        await asyncio.sleep(1)
        yield b"x"


async def silence() -> AsyncIterator[bytes]:
    while True:
        yield b""
        await asyncio.sleep(5)


async def invented_token() -> AsyncIterator[bytes]:
    token = f"gl_{time.monotonic_ns():043d}"
    yield head("PUT", UPLOAD, f"Authorization: Bearer {token}", f"Content-Length: {20 * 1024**2}")
    for _ in range(79):
        yield PIECE
    while True:
        await asyncio.sleep(1)
        yield b"x"


ATTACKS: Final[dict[str, tuple[Pieces, int]]] = {
    "large bodies": (large_body, 5),
    "the rest of a pot of 512 MB": (remainder, 2),
    "bodies without end": (endless_body, 2),
    "slow bodies": (slow_body, 60),
    "slow headers": (slow_head, 150),
    "slow request lines": (slow_line, 60),
    "silent connections": (silence, 300),
    "invented tokens": (invented_token, 10),
}


async def visit(port: int, source: str, pieces: AsyncIterator[bytes]) -> str:
    """First line of the answer, or how the connection ended."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
    except OSError:
        return "no connection"
    answer = asyncio.ensure_future(reader.readline())
    try:
        async for piece in pieces:
            writer.write(piece)
            await asyncio.wait(
                {answer, drain := asyncio.ensure_future(writer.drain())}, return_when="FIRST_COMPLETED"
            )
            if answer.done():
                drain.cancel()
                break
            if drain.done():
                drain.result()
        return (await answer).decode("latin-1").strip() or "closed"
    except OSError:
        return "cut off"
    finally:
        answer.cancel()
        writer.transport.abort()


async def attack(port: int, kind: str, number: int, answers: Answers) -> None:
    pieces, _count = ATTACKS[kind]
    await asyncio.sleep(0 if pieces is large_body else HEAD_START / 2 if pieces is remainder else HEAD_START)
    while True:
        answer = "still open"
        try:
            answer = await visit(port, f"127.0.1.{1 + number % ADDRESSES}", pieces())
        finally:
            answers[kind][answer] += 1
        await asyncio.sleep(0.2)


async def main(port: int, seconds: float) -> Answers:
    answers: Answers = defaultdict(Counter)
    number, tasks = 0, []
    for kind, (_pieces, count) in ATTACKS.items():
        for _ in range(count):
            tasks.append(asyncio.ensure_future(attack(port, kind, number, answers)))
            number += 1
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return answers


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))))
