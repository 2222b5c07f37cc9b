"""Milliseconds from a commit to the socket of a real browser, with the web process and the moving process apart.

    python -m bench.live [--moves 200] [--sockets 1 50 200]

The clock starts when the commit has returned, in the process that moves; it stops when the browser's socket hands the
message to its page. Both read the same machine's clock. The server is one of its own, in a temporary folder."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterable
from typing import Any

from bench.rig import browser, database, exponent, keep

PAUSE = 0.08  # seconds between two moves: each is told by itself
OPEN = """([address, count]) => {
  window.heard = [];
  window.open = 0;
  for (let n = 0; n < count; n += 1) {
    const socket = new WebSocket(address);
    socket.onopen = () => { window.open += 1; };
    socket.onmessage = (event) => {
      const at = performance.timeOrigin + performance.now();
      for (const hint of JSON.parse(event.data).hints ?? []) window.heard.push([hint.task, hint.version, at]);
    };
  }
}"""


def run(page: Any, world: Any, address: str, sockets: int, moves: int) -> dict[str, Any]:
    """Open the sockets, move one task after the other, and compare the clocks."""
    from pipelines.live import hints  # noqa: PLC0415  # after `database`

    committed: dict[tuple[str, int], float] = {}
    put = hints.sender.put

    def stamped(found: Iterable[Any]) -> None:
        now = time.time() * 1000
        told = list(found)
        committed.update({(hint.task, hint.seq): now for hint in told})
        put(told)

    version = world.line(stations=["a", "b"], key=f"line-{sockets}")
    tasks = [world.start(version) for _ in range(moves)]
    jobs = [world.started(task) for task in tasks]
    page.goto("about:blank")
    page.goto(f"{address}/help/")
    page.evaluate(OPEN, [f"{address.replace('http', 'ws')}/live/?project={world.project}", sockets])
    page.wait_for_function("count => window.open === count", arg=sockets, timeout=60_000)
    time.sleep(2)  # what was told of the preparations is over
    page.evaluate("window.heard.length = 0")
    hints.sender.put = stamped  # type: ignore[method-assign]
    try:
        for job in jobs:
            assert world.report_now(job).status == "accepted"
            time.sleep(PAUSE)
    finally:
        hints.sender.put = put  # type: ignore[method-assign]
    time.sleep(2)
    took = sorted(
        at - committed[task, seq]
        for task, seq, at in page.evaluate("window.heard")
        if (task, seq) in committed
    )
    expected = len(committed) * sockets
    return {
        "sockets": sockets,
        "moves": len(committed),
        "told": len(took),
        "of": expected,
        "ms median": round(statistics.median(took), 1),
        "ms p95": round(took[int(len(took) * 0.95)], 1),
        "ms p99": round(took[int(len(took) * 0.99)], 1),
        "ms max": round(took[-1], 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--moves", type=int, default=200)
    parser.add_argument("--sockets", type=int, nargs="+", default=[1, 50, 200])
    given, _ = parser.parse_known_args()
    with database() as home:
        world = moving_world()
        with browser("live", home, world.viewer) as (page, address):
            measured = [run(page, world, address, count, given.moves) for count in given.sockets]
    slope = exponent((each["sockets"], each["ms median"]) for each in measured)
    keep("live", {"from commit to the browser's socket": measured, "exponent of the median": slope})
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
