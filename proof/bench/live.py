"""Milliseconds from a commit to the sockets of a project, with the web processes and the moving process apart.

    python -m proof.bench.live [--moves 100] [--sockets 1 10 100 1000] [--web 2] [--redis]

The clock starts when the commit has returned, in the process that moves; it stops when the browser's socket hands the
message to its page. Both read the same machine's clock. One socket is the browser's; the others are held by a process
of their own (`proof.bench.live_clients`), evenly over the web processes, and hear the same: `all` is every delivery,
`last` when the last socket of all has heard of a move. Beside them the milliseconds of the web processes' processors
for one move and one socket, which other work on the machine does not change, and what a socket takes of their memory.
The server is one of its own, in a temporary folder; with `--redis` the hints go over a `redis-server` of its own."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from proof.bench.live_clients import Heard
from proof.bench.moves import cpu_of
from proof.bench.reports import parent, processes
from proof.bench.rig import answering, browser, database, exponent, keep
from proof.soak.kills import free_port

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
Move = tuple[str, int]


class Others:
    """Sockets beside the browser's."""

    def __init__(self, addresses: Sequence[str], cookie: str, count: int) -> None:
        words = [sys.executable, "-m", "proof.bench.live_clients", cookie, str(count), *addresses]
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
            more = [(task, version, times) for task, version, times in json.loads(self._line())]
            if not more:
                return found
            found += more

    def end(self) -> None:
        self._process.communicate(timeout=60)

    def _line(self) -> str:
        return self._from.readline().strip()


def run(page: Any, world: Any, addresses: Sequence[str], sockets: int, moves: int) -> dict[str, Any]:
    """Open the sockets, move one task after the other, and compare the clocks."""
    from django.conf import settings  # noqa: PLC0415  # after `database`

    from tests.live.conftest import session_of  # noqa: PLC0415  # after `database`

    version = world.line(stations=["a", "b"], key=f"line-{sockets}")
    jobs = [world.started(world.start(version)) for _ in range(moves)]
    live = [f"{address.replace('http', 'ws')}/live/?project={world.project}" for address in addresses]
    webs = web_processes()
    assert len(webs) == len(addresses), webs
    page.goto("about:blank")
    page.goto(f"{addresses[0]}/help/")
    page.evaluate(OPEN, live[0])
    page.wait_for_function("() => window.open === 1", timeout=60_000)
    memory = sum(memory_of(web) for web in webs)
    others = Others(live, f"{settings.SESSION_COOKIE_NAME}={session_of(world.viewer)}", sockets - 1)
    print(f"{sockets} sockets are open", file=sys.stderr, flush=True)
    others.heard()  # what was told of the preparations is over
    memory = sum(memory_of(web) for web in webs) - memory
    page.evaluate("window.heard.length = 0")
    before = sum(cpu_of(web) for web in webs)
    with stamped() as committed:
        for job in jobs:
            assert world.report_now(job).status == "accepted"
            time.sleep(PAUSE)
        elsewhere = others.heard()
    spent = sum(cpu_of(web) for web in webs) - before
    here: Heard = [(task, version, [at]) for task, version, at in page.evaluate("window.heard")]
    others.end()
    every = times([*here, *elsewhere], committed)
    deliveries = sorted(took for each in every.values() for took in each)
    return {
        "sockets": sockets,
        "moves": len(committed),
        "told": len(deliveries),
        "of": len(committed) * sockets,
        **{f"ms {name}": value for name, value in quantiles(lasts(times(here, committed))).items()},
        **{f"ms {name} of all": value for name, value in quantiles(deliveries).items()},
        **{f"ms {name} of the last": value for name, value in quantiles(lasts(every)).items()},
        "ms of the web processes a move and socket": round(1000 * spent / (len(committed) * sockets), 3),
        "kB of the web processes a socket": round(memory / (sockets - 1), 1) if sockets > 1 else None,
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


def times(heard: Heard, committed: dict[Move, float]) -> dict[Move, list[float]]:
    """For each move, from its commit to each socket that heard of it."""
    found: dict[Move, list[float]] = {}
    for task, version, ats in heard:
        if (task, version) in committed:
            found.setdefault((task, version), []).extend(at - committed[task, version] for at in ats)
    return found


def lasts(found: dict[Move, list[float]]) -> list[float]:
    return sorted(max(each) for each in found.values())


def quantiles(took: list[float]) -> dict[str, float]:
    return {
        "median": round(statistics.median(took), 1),
        "p95": round(took[int(len(took) * 0.95)], 1),
        "max": round(took[-1], 1),
    }


def web_processes() -> list[int]:
    """Those that the fleets of this process started."""
    return [pid for pid in processes() if parent(pid) == os.getpid() and b"\0web\0" in words_of(pid)]


def memory_of(pid: int) -> float:
    """Resident, in kB."""
    return float(Path(f"/proc/{pid}/status").read_text().partition("VmRSS:")[2].split()[0])


@contextmanager
def redis_server(home: Path) -> Iterator[str]:
    """The address of a Redis that keeps nothing."""
    program = shutil.which("redis-server")
    if program is None:
        sys.exit(
            "proof.bench.live --redis: there is no redis-server here; install it (apt-get install redis-server)"
        )
    port = free_port()
    words = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(home)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    try:
        yield f"redis://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@contextmanager
def web_beside(home: Path, redis_url: str) -> Iterator[str]:
    """The address of one more web process of the same installation."""
    from proof.soak.fleet import Fleet  # noqa: PLC0415  # after `database`

    port = free_port()
    fleet, address = Fleet(home, (), port, redis_url=redis_url), f"http://127.0.0.1:{port}"
    try:
        fleet.tend()
        answering(address)
        yield address
    finally:
        fleet.stop()


def words_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--moves", type=int, default=100)
    parser.add_argument("--sockets", type=int, nargs="+", default=[1, 10, 100, 1000])
    parser.add_argument("--web", type=int, default=1, help="web processes")
    parser.add_argument("--redis", action="store_true", help="the hints go over a Redis, not over PostgreSQL")
    given, _ = parser.parse_known_args()
    with ExitStack() as stack:
        redis_url = ""
        if given.redis:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="gl-redis-")))
            redis_url = stack.enter_context(redis_server(folder))
        # Read by the settings of this process, which moves
        os.environ["REDIS_URL"] = redis_url
        home = stack.enter_context(database())
        world = moving_world()
        page, address = stack.enter_context(browser("live", home, world.viewer, redis_url=redis_url))
        more = [stack.enter_context(web_beside(home, redis_url)) for _ in range(given.web - 1)]
        measured = [run(page, world, [address, *more], count, given.moves) for count in given.sockets]
    # Of one size alone there is none
    sizes = [(each["sockets"], each["ms median"]) for each in measured]
    slope = exponent(sizes) if len(sizes) > 1 else None
    keep(
        "live" + (f"_{given.web}" if given.web > 1 else "") + ("_redis" if given.redis else ""),
        {
            "load": os.getloadavg()[0],
            "web processes": given.web,
            "bus": "redis" if given.redis else "postgresql",
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
