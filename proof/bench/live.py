"""Milliseconds from a commit to the socket of a real browser, with the web process and the moving process apart.

    python -m proof.bench.live [--moves 100] [--sockets 1 10 100 1000]

The clock starts when the commit has returned, in the process that moves; it stops when the browser's socket hands the
message to its page. Both read the same machine's clock. One socket is the browser's; the others are held by a process
of their own (`proof.bench.live_clients`) and hear the same: `last` is when the last of all has heard of a move. Beside
them the milliseconds of the web process's processor for one move and one socket, which other work on the machine does
not change. The server is one of its own, in a temporary folder."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from proof.bench.moves import cpu_of
from proof.bench.reports import parent, processes
from proof.bench.rig import browser, database, exponent, keep

PAUSE = 0.08  # seconds between two moves: each is told by itself
QUIET = 0.5  # seconds without a hint: all that was told has arrived
OPEN = """address => {
  window.heard = [];
  window.open = 0;
  const socket = new WebSocket(address);
  socket.onopen = () => { window.open = 1; };
  socket.onmessage = (event) => {
    const at = performance.timeOrigin + performance.now();
    for (const hint of JSON.parse(event.data).hints ?? []) window.heard.push([hint.task, hint.version, at]);
  };
}"""
Heard = list[tuple[str, int, float]]


class Others:
    """Sockets beside the browser's."""

    def __init__(self, address: str, cookie: str, count: int) -> None:
        words = [sys.executable, "-m", "proof.bench.live_clients", address, cookie, str(count)]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        assert self._line() == "open"

    def heard(self) -> Heard:
        """Since the last time; what still arrives is waited for."""
        found: Heard = []
        while True:
            time.sleep(QUIET)
            self._to.write("\n")
            self._to.flush()
            more = [(task, version, at) for task, version, at in json.loads(self._line())]
            if not more:
                return found
            found += more

    def end(self) -> None:
        self._process.communicate(timeout=60)

    def _line(self) -> str:
        return self._from.readline().strip()


def run(page: Any, world: Any, address: str, sockets: int, moves: int) -> dict[str, Any]:
    """Open the sockets, move one task after the other, and compare the clocks."""
    from django.conf import settings  # noqa: PLC0415  # after `database`

    from tests.live.conftest import session_of  # noqa: PLC0415  # after `database`

    version = world.line(stations=["a", "b"], key=f"line-{sockets}")
    jobs = [world.started(world.start(version)) for _ in range(moves)]
    live = f"{address.replace('http', 'ws')}/live/?project={world.project}"
    page.goto("about:blank")
    page.goto(f"{address}/help/")
    page.evaluate(OPEN, live)
    page.wait_for_function("() => window.open === 1", timeout=60_000)
    others = Others(live, f"{settings.SESSION_COOKIE_NAME}={session_of(world.viewer)}", sockets - 1)
    others.heard()  # what was told of the preparations is over
    page.evaluate("window.heard.length = 0")
    web = web_process()
    before = cpu_of(web)
    with stamped() as committed:
        for job in jobs:
            assert world.report_now(job).status == "accepted"
            time.sleep(PAUSE)
        elsewhere = others.heard()
    spent = cpu_of(web) - before
    here: Heard = page.evaluate("window.heard")
    others.end()
    first = times(here, committed)
    last = times([*here, *elsewhere], committed)
    told = sum((task, version) in committed for task, version, _ in [*here, *elsewhere])
    return {
        "sockets": sockets,
        "moves": len(committed),
        "told": told,
        "of": len(committed) * sockets,
        **{f"ms {name}": value for name, value in quantiles(first).items()},
        **{f"ms {name} of the last": value for name, value in quantiles(last).items()},
        "ms of the web process a move and socket": round(1000 * spent / (len(committed) * sockets), 3),
    }


@contextmanager
def stamped() -> Iterator[dict[tuple[str, int], float]]:
    """When what was told here had been committed, in milliseconds."""
    from pipelines.web.live import hints  # noqa: PLC0415  # after `database`

    committed: dict[tuple[str, int], float] = {}
    put = hints.sender.put

    def putting(found: Iterable[Any]) -> None:
        now = time.time() * 1000
        told = list(found)
        committed.update({(hint.task, hint.seq): now for hint in told})
        put(told)

    hints.sender.put = putting  # type: ignore[method-assign]
    try:
        yield committed
    finally:
        hints.sender.put = put  # type: ignore[method-assign]


def times(heard: Heard, committed: dict[tuple[str, int], float]) -> list[float]:
    """For each move, from its commit to the socket that heard of it last."""
    found: dict[tuple[str, int], float] = {}
    for task, version, at in heard:
        if (task, version) in committed:
            found[task, version] = max(found.get((task, version), at), at)
    return sorted(at - committed[move] for move, at in found.items())


def quantiles(took: list[float]) -> dict[str, float]:
    return {
        "median": round(statistics.median(took), 1),
        "p95": round(took[int(len(took) * 0.95)], 1),
        "max": round(took[-1], 1),
    }


def web_process() -> int:
    """The one that the fleet of the browser started."""
    found = [pid for pid in processes() if parent(pid) == os.getpid() and b"\0web\0" in words_of(pid)]
    assert len(found) == 1, found
    return found[0]


def words_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--moves", type=int, default=100)
    parser.add_argument("--sockets", type=int, nargs="+", default=[1, 10, 100, 1000])
    given, _ = parser.parse_known_args()
    with database() as home:
        world = moving_world()
        with browser("live", home, world.viewer) as (page, address):
            measured = [run(page, world, address, count, given.moves) for count in given.sockets]
    # Of one size alone there is none
    sizes = [(each["sockets"], each["ms median"]) for each in measured]
    slope = exponent(sizes) if len(sizes) > 1 else None
    keep(
        "live",
        {
            "load": os.getloadavg()[0],
            "from commit to the browser's socket": measured,
            "exponent of the median": slope,
        },
    )
    return 0


def moving_world() -> Any:
    """The factories' world, which can also report a job that it has started before."""
    from pipelines import engine  # noqa: PLC0415  # after `database`
    from tests.factories import World, make_project, make_worker  # noqa: PLC0415  # after `database`

    class Moving(World):
        def report_now(self, job: Any) -> Any:
            return engine.report([self.report_of(job)])[0]

    return Moving(make_project("bench"), make_worker())


if __name__ == "__main__":
    sys.exit(main())
