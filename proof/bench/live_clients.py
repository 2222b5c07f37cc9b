"""The sockets of `proof.bench.live` beside the browser's own, in a process of their own: a browser opens 255 at most.

    python -m proof.bench.live_clients ws://HOST:PORT/live/?project=… COOKIE COUNT

Prints `open` when all are, reads lines, and prints as JSON the `[task, version, at]` that all of them heard since the
last one, `at` in milliseconds of the machine's clock; ends with its input."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any
from urllib.parse import urlsplit

AT_ONCE = 8  # handshakes


async def run(address: str, cookie: str, count: int) -> None:
    # Here, and not above: whoever only imports this module may have chosen twisted's loop.
    from autobahn.asyncio.websocket import WebSocketClientFactory, WebSocketClientProtocol  # noqa: PLC0415

    class Socket(WebSocketClientProtocol):
        def onOpen(self) -> None:
            self.factory.opening.release()

        def onMessage(self, payload: bytes, isBinary: bool) -> None:  # noqa: N803
            at = time.time() * 1000
            for hint in json.loads(payload).get("hints", ()):
                self.factory.heard.append((hint["task"], hint["version"], at))

        def onClose(self, wasClean: bool, code: int, reason: str) -> None:  # noqa: N803
            if not self.factory.over:
                sys.exit(f"a socket was closed: {code} {reason}")

    at = urlsplit(address)
    factory: Any = WebSocketClientFactory(
        address, origin=f"http://{at.hostname}:{at.port}", headers={"Cookie": cookie}
    )
    factory.protocol, factory.heard, factory.over = Socket, [], False
    factory.opening = asyncio.Semaphore(AT_ONCE)
    loop = asyncio.get_running_loop()
    for _ in range(count):
        await factory.opening.acquire()
        await loop.create_connection(factory, at.hostname, at.port)
    for _ in range(AT_ONCE):  # none is still on its way
        await factory.opening.acquire()
    print("open", flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        heard, factory.heard = factory.heard, []
        print(json.dumps(heard), flush=True)
    factory.over = True


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], sys.argv[2], int(sys.argv[3])))
