"""Milliseconds from a commit to the socket of a real browser, with the web process and the moving process apart.

    python -m bench.live [--moves 200] [--sockets 1 50 200]

The clock starts when the commit has returned, in the process that moves; it stops when the browser's socket hands the
message to its page. Both read the same machine's clock. The server is one of its own, in a temporary folder."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.soak.fleet import Fleet
from tests.soak.kills import free_port, prepare

RESULTS = Path(__file__).resolve().parent / "results"
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
    from pipelines.live import hints  # noqa: PLC0415  # after `prepare`

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
    home = Path(tempfile.mkdtemp(prefix="gl-bench-"))
    prepare(home)
    from django.conf import settings  # noqa: PLC0415  # after `prepare`
    from django.core.management import call_command  # noqa: PLC0415  # after `prepare`
    from django.db import connections  # noqa: PLC0415  # after `prepare`
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # after `prepare`

    from tests.fixtures.browser import FLAGS, find_chromium  # noqa: PLC0415  # after `prepare`
    from tests.live.conftest import session_of  # noqa: PLC0415  # after `prepare`

    call_command("migrate", verbosity=0)
    world = moving_world()
    world.viewer.set_password("correct horse battery")
    world.viewer.save()
    port = free_port()
    fleet, address = Fleet(home, (), port), f"http://127.0.0.1:{port}"
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # Playwright's loop runs in this thread
    try:
        fleet.tend()
        with sync_playwright() as playwright:
            program = find_chromium(playwright.chromium.executable_path)
            if program is None:
                print("bench.live: skipped, there is no Chromium here", file=sys.stderr)
                return 0
            browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
            context = browser.new_context()
            cookie = {"name": settings.SESSION_COOKIE_NAME, "value": session_of(world.viewer)}
            context.add_cookies([{**cookie, "domain": "127.0.0.1", "path": "/"}])
            page = context.new_page()
            wait_for(address)
            measured = [run(page, world, address, count, given.moves) for count in given.sockets]
            browser.close()
    finally:
        fleet.stop()
        connections.close_all()
        shutil.rmtree(home, ignore_errors=True)
    text = json.dumps({"cores": os.cpu_count(), "from commit to the browser's socket": measured}, indent=2)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "live.json").write_text(text + "\n")
    print(text)
    return 0


def moving_world() -> Any:
    """The factories' world, which can also report a job that it has started before."""
    from pipelines import engine  # noqa: PLC0415  # after `prepare`
    from tests.factories import World, make_project, make_worker  # noqa: PLC0415  # after `prepare`

    class Moving(World):
        def report_now(self, job: Any) -> Any:
            return engine.report([self.report_of(job)])[0]

    return Moving(make_project("bench"), make_worker())


def wait_for(address: str) -> None:
    from tests.fixtures.site import health  # noqa: PLC0415  # after `prepare`

    deadline = time.monotonic() + 60
    while health(address) == 0:
        assert time.monotonic() < deadline, "the web process did not answer"
        time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main())
