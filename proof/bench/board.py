"""Frames and memory of a board with thousands of tasks while they move, in a real Chromium.

    python -m proof.bench.board [--tasks 5000] [--moves 50] [--minutes 10] [--pictures 24]

The moves are replayed, so that the browser has a core: the board is fetched from a real web process beside real moves
first, and from then on the page gets those pictures of it, in turn, whenever it fetches what a hint names, without the
cards that it says it has, as from the server. Hints come over its socket, so many a second. Frames are counted by
`requestAnimationFrame`; memory is that of the heap after a collection. The same page, quiet, stands beside them, since
whatever else runs on the machine costs frames, too; the milliseconds of the processor that the page's thread takes for
a fetch are not changed by that."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from typing import Any

from proof.bench.rig import browser, database, keep

STATIONS = ("plan", "build", "lint", "test", "review", "stage", "accept", "ship")
QUIET_SECONDS = 15
FRAMES = """() => {
  window.frames = [];
  let last = performance.now();
  const next = (now) => { window.frames.push(now - last); last = now; requestAnimationFrame(next); };
  requestAnimationFrame(next);
}"""
LONG_TASKS = """() => {
  window.long = [];
  new PerformanceObserver((list) => { for (const one of list.getEntries()) window.long.push(one.duration); })
    .observe({ entryTypes: ["longtask"] });
}"""


def spread(world: Any, count: int) -> Any:
    """So many open tasks over all stations. Returns the version."""
    from pipelines import engine  # noqa: PLC0415  # after `database`

    version = world.line(stations=list(STATIONS), key="busy")
    for number in range(count):
        task = world.start(version, title=f"Task {number} of the busy line")
        if number % len(STATIONS):
            token = world.token(task)
            to = STATIONS[number % len(STATIONS)]
            engine.move_or_retry_by_hand(token.pk, user=world.operator, token_version=token.version, to=to)
    return version


def move_some(world: Any, tasks: list[Any], turn: int, count: int) -> None:
    from pipelines import engine  # noqa: PLC0415  # after `database`

    for place in range(count):
        task = tasks[(turn * count + place) % len(tasks)]
        token = world.token(task)
        to = STATIONS[(STATIONS.index(token.station) + 1) % len(STATIONS)]
        engine.move_or_retry_by_hand(token.pk, user=world.operator, token_version=token.version, to=to)


CARD = re.compile(
    r'<article [^>]*data-drawn="(?P<drawn>[^"]*)" data-card="(?P<key>[^"]*)".*?</article>', re.DOTALL
)


def without_shown(picture: str, shown: set[str]) -> str:
    """The picture with a mark in the place of each card that the page has, as the server draws it."""

    def drawn(found: re.Match[str]) -> str:
        if found["drawn"] not in shown:
            return found[0]
        return f'<article data-card="{found["key"]}" data-drawn="{found["drawn"]}" data-same></article>'

    return CARD.sub(drawn, picture)


class Replay:
    """Pictures of the board in turn, and the page's socket."""

    def __init__(self, page: Any) -> None:
        self.pictures: list[str] = []
        self.fetched, self.sent, self.replays, self._socket = 0, 0, False, None
        self._version = 10_000
        page.route("**/*fragment=board*", self._answer)
        page.route_web_socket("**/live/**", self._open)

    def _open(self, socket: Any) -> None:
        self._socket = socket

    def _answer(self, route: Any) -> None:
        if not self.replays:
            route.continue_()
            return
        picture = self.pictures[self.fetched % len(self.pictures)]
        self.fetched += 1
        body = without_shown(picture, set(route.request.headers.get("gateline-cards", "").split(",")))
        self.sent += len(body)
        route.fulfill(status=200, content_type="text/html; charset=utf-8", body=body)

    def hint(self, names: list[str]) -> None:
        """Send news of these tasks: a page leaves out a version that it has heard of."""
        self._version += 1
        hints = [{"task": name, "version": self._version} for name in names]
        self._socket.send(json.dumps({"hints": hints}))  # type: ignore[attr-defined]


def quantiles(frames: list[float]) -> dict[str, float]:
    ordered = sorted(frames)
    return {
        "frames": len(ordered),
        "median": round(ordered[len(ordered) // 2], 1),
        "p95": round(ordered[int(len(ordered) * 0.95)], 1),
        "p99": round(ordered[int(len(ordered) * 0.99)], 1),
        "worst": round(ordered[-1], 1),
    }


def thread_seconds(session: Any) -> dict[str, float]:
    """Of the processor, that the page's thread has taken so far, by what for."""
    found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return {
        name: found[name]
        for name in ("TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration")
    }


def heap(session: Any) -> dict[str, float]:
    """After a collection: what is kept, in MB, and how many nodes and listeners there are."""
    session.send("HeapProfiler.collectGarbage")
    found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return {
        "MB": round(found["JSHeapUsedSize"] / 2**20, 1),
        "nodes": int(found["Nodes"]),
        "listeners": int(found["JSEventListeners"]),
    }


def replayed(
    page: Any, replay: Replay, names: list[str], moves: int, seconds: float
) -> tuple[list[float], list[float]]:
    """Send the hints of so many moves a second. Returns the frames, and the tasks over 50 ms, in milliseconds."""
    page.evaluate("window.frames.length = 0; window.long.length = 0")
    began, sent = time.monotonic(), 0
    while (passed := time.monotonic() - began) < seconds:
        due = int(passed * moves) - sent
        if due > 0:
            replay.hint([names[(sent + place) % len(names)] for place in range(due)])
            sent += due
        page.wait_for_timeout(50)  # as long as a process merges hints
    frames, long = page.evaluate("[window.frames, window.long]")
    return frames, long


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=5_000)
    parser.add_argument("--moves", type=int, default=50, help="a second")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--pictures", type=int, default=24)
    given, _ = parser.parse_known_args()
    with database() as home:
        from pipelines.models import Task  # noqa: PLC0415  # after `database`
        from tests.factories import make_world  # noqa: PLC0415  # after `database`

        world = make_world()
        spread(world, given.tasks)
        tasks = list(Task.objects.order_by("pk"))
        with browser("board", home, world.operator, viewport={"width": 1440, "height": 900}) as (
            page,
            address,
        ):
            replay = Replay(page)
            at = f"{address}/p/{world.project.owner.key}/{world.project.key}/lines/busy/live/"
            first_page = len(page.goto(at).body())
            cards = page.locator("[data-card]").count()
            for turn in range(given.pictures):
                move_some(world, tasks, turn, given.moves // 4 or 1)
                replay.pictures.append(page.request.get(f"{at}?fragment=board").text())
            page.wait_for_function("() => document.readyState === 'complete'")
            replay.replays = True
            page.evaluate(FRAMES)
            page.evaluate(LONG_TASKS)
            quiet, _long = replayed(page, replay, [tasks[0].name], 0, QUIET_SECONDS)
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            names = [task.name for task in tasks]
            replayed(page, replay, names, given.moves, 10)  # what is made once is made
            memory, frames, long = [heap(session)], [], []
            before, first = thread_seconds(session), replay.fetched
            minutes = given.minutes
            while minutes > 0:
                part = replayed(page, replay, names, given.moves, 60 * min(1.0, minutes))
                frames += part[0]
                long += part[1]
                memory.append(heap(session))
                minutes -= 1
            after = thread_seconds(session)
            keep(
                "board",
                {
                    "load": [round(value, 1) for value in os.getloadavg()],
                    "tasks": given.tasks,
                    "cards drawn": cards,
                    "kB of the first page": round(first_page / 1000),
                    "kB of a picture": round(len(replay.pictures[0]) / 1000),
                    "kB of an answer": round(replay.sent / 1000 / max(1, replay.fetched), 1),
                    "moves a second": given.moves,
                    "minutes": given.minutes,
                    "fetched": replay.fetched - first,
                    "ms of the processor a fetch": {
                        name: round(1000 * (seconds - before[name]) / max(1, replay.fetched - first), 1)
                        for name, seconds in after.items()
                    },
                    "ms of a frame, quiet": quantiles(quiet),
                    "ms of a frame": quantiles(frames),
                    "tasks of the page over 50 ms": len(long),
                    "longest ms": round(max(long, default=0), 1),
                    "memory each minute": memory,
                },
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
