"""The sockets of `proof.bench.live` beside the browser's own, in a process of their own: a browser opens 255 at most.

    python -m proof.bench.live_clients COOKIE COUNT ws://HOST:PORT/live/?project=… …

So many sockets, evenly over the addresses, which only read and answer pings: what they cost is little beside what the
server does. Prints `open` when all are, reads lines, and prints as JSON what all of them heard since the last one, as
`[task, version, [at, …]]` with `at` in milliseconds of the machine's clock; ends with its input."""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Final

from tests.live.plain_sockets import PlainSocket

AT_ONCE: Final = 8  # handshakes
Heard = list[tuple[str, int, list[float]]]


@lru_cache(maxsize=1_000)
def hinted(payload: bytes) -> tuple[tuple[str, int], ...]:
    return tuple((hint["task"], hint["version"]) for hint in json.loads(payload).get("hints", ()))


def told(heard: Sequence[tuple[float, bytes]]) -> Heard:
    found: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
    for at, payload in heard:
        for hint in hinted(payload):
            found[hint].append(at)
    return [(task, version, times) for (task, version), times in found.items()]


def run(cookie: str, count: int, addresses: Sequence[str]) -> None:
    poll, of_file = select.epoll(), {}
    poll.register(sys.stdin.fileno(), select.EPOLLIN)

    def begin(place: int) -> None:
        reader = PlainSocket(addresses[place % len(addresses)], cookie)
        of_file[reader.fileno()] = reader
        poll.register(reader.fileno(), select.EPOLLIN)

    heard: list[tuple[float, bytes]] = []
    with ThreadPoolExecutor(AT_ONCE) as opening:
        begun = [opening.submit(begin, place) for place in range(count)]
        is_open = False
        while True:
            # Those that are open answer pings while others open
            ready = poll.poll(None if is_open else 0.1)
            at = round(time.time() * 1000, 1)
            for number, _event in ready:
                if reader := of_file.get(number):
                    heard += [(at, text) for text in reader.texts()]
                elif os.read(number, 100):
                    print(json.dumps(told(heard)), flush=True)
                    heard.clear()
                else:
                    return
            if not is_open and all(each.done() for each in begun):
                is_open = True
                for each in begun:
                    each.result()
                print("open", flush=True)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
