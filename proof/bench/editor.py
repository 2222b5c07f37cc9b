"""How fluid the canvas is: a line of 300 stations and about 1,000 rules in a real Chromium, beside one of one station.

    python -m proof.bench.editor [--stations 300] [--open] [--load 4]

What is done: the page is opened, the whole line is moved about and zoomed, moved about at full size, stations are
chosen, one is dragged, renamed and given a rule, the canvas is tidied. The browser records a trace of each step;
frames are the callbacks of animation frames on the page's thread, tasks are what that thread did without a pause. The
small canvas of the same run shows what the machine gives at best. `editable` is when the page itself says that its
canvas has its edges and takes a click, counted from the address, in the median of three. `--open` measures nothing
besides; `--load` does it beside so many other processes that compute. The server is one of its own, in a temporary
folder."""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from proof.bench.rig import Json, browser, database, keep

SAME_FRAME = 4
LONG = 50
"""Milliseconds from which a task is a long one, as browsers count."""
TARGET = {1: 1.0, 60: 1.0, 300: 2.0}
"""Seconds until the canvas of so many stations can be edited."""
TASKS_P95 = 100.0
WORST_TASK = 200.0
"""Milliseconds of one task while the canvas opens."""
OPENED = 3
BUSY = "while True: sum(range(1000))"
# Counts from the address, as the browser does.
EDITABLE = """() => {
  const look = () => {
    if (window.editableAt || !document.querySelector('.react-flow[aria-busy="false"] .ed-station')) return;
    window.editableAt = -1;
    requestAnimationFrame(() => setTimeout(() => { window.editableAt = performance.now(); }));
  };
  new MutationObserver(look).observe(document, {subtree: true, childList: true, attributeFilter: ['aria-busy']});
}"""
CATEGORIES = ["toplevel", "devtools.timeline", "blink.user_timing"]
# Frames are only counted where something asks for them.
TICK = """() => {
  if (window.ticking) return;
  window.ticking = true;
  const next = () => requestAnimationFrame(next);
  next();
}"""
EMPTY_SPOT = """() => {
  const pane = document.querySelector('.ed-canvas').getBoundingClientRect();
  for (let y = pane.top + 120; y < pane.bottom - 40; y += 7)
    for (let x = pane.left + 120; x < pane.right - 240; x += 7)
      if (document.elementFromPoint(x, y)?.matches('.react-flow__pane')) return [x, y];
}"""


def line_of(stations: int) -> Json:
    """Ten kinds of neighbourhoods: on, on over one, back by three, to an end; every tenth with a gate."""
    found = []
    for number in range(stations):
        last = number == stations - 1
        on = "completed" if last else f"s{number + 1}"
        over = (
            f"s{number - 3}" if number % 9 == 8 else f"s{number + 2}" if number < stations - 2 else "failed"
        )
        clean: Json = {
            "all": [{"result": "success"}, {"output": {"path": "high", "op": "equals", "value": 0}}]
        }
        rules: list[Json] = [
            {"id": f"r{number}a", "label": "clean", "when": clean, "to": on},
            {
                "id": f"r{number}b",
                "label": "retry",
                "when": {"eval": {"op": "starts_with", "value": "retry"}},
                "to": over,
                "max_retries": 2,
            },
            {"id": f"r{number}c", "label": "failure", "when": {"result": "failure"}, "to": "failed"},
        ]
        if number % 10 == 5:
            rules[0]["gates"] = ["review"]
        if number % 3 == 0:
            rules.append({"id": f"r{number}d", "label": "success", "when": {"result": "success"}, "to": on})
        work = {"kind": ("noop", "manual", "command")[number % 3]}
        if work["kind"] == "command":
            work = {"kind": "command", "argv": ["true"]}  # type: ignore[dict-item]
        found.append({"key": f"s{number}", "name": f"Station {number}", "work": work, "rules": rules})
    return {
        "gateline": 1,
        "key": "large",
        "name": "Large",
        "stations": found,
        "gates": [{"key": "review", "name": "Review"}],
    }


class Trace:
    """What the browser's threads did between `__enter__` and `__exit__`."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.session = page.context.new_cdp_session(page)
        self.events: list[Json] = []

    def __enter__(self) -> Trace:
        self.session.on("Tracing.dataCollected", lambda told: self.events.extend(told["value"]))
        self.session.send(
            "Tracing.start",
            {"traceConfig": {"includedCategories": CATEGORIES}, "transferMode": "ReportEvents"},
        )
        return self

    def __exit__(self, *_: object) -> None:
        done: list[bool] = []
        self.session.on("Tracing.tracingComplete", lambda _: done.append(True))
        self.session.send("Tracing.end")
        while not done:
            self.page.wait_for_timeout(50)
        self.session.detach()

    def main_thread(self) -> tuple[int, int] | None:
        """Of the page: process and thread of most animation frames."""
        frames = [(each["pid"], each["tid"]) for each in self.events if each["name"] == "FireAnimationFrame"]
        return max(set(frames), key=frames.count) if frames else None

    def frames(self) -> list[float]:
        """Milliseconds between two frames."""
        began = [e["ts"] for e in self.events if e["name"] == "FireAnimationFrame"]
        # Several callbacks of one frame are one frame.
        at = sorted(began)
        gaps = [(after - before) / 1000 for before, after in itertools.pairwise(at)]
        return [gap for gap in gaps if gap > SAME_FRAME]

    def tasks(self, clock: str = "dur") -> list[float]:
        """Milliseconds of each task of the page's thread; `tdur`: those in which it had a core."""
        thread = self.main_thread()
        return [
            each[clock] / 1000
            for each in self.events
            if each["name"].endswith("RunTask") and (each["pid"], each["tid"]) == thread and clock in each
        ]


def told(trace: Trace) -> Json:
    frames, tasks = sorted(trace.frames()), sorted(trace.tasks())
    long = [each for each in tasks if each >= LONG]
    cpu = sorted(each for each in trace.tasks("tdur") if each >= LONG)
    return {
        "frames": len(frames),
        "frame median ms": round(statistics.median(frames), 1) if frames else None,
        "frame p95 ms": round(at(frames, 0.95), 1),
        "frame worst ms": round(frames[-1], 1) if frames else None,
        "tasks p95 ms": round(at(tasks, 0.95), 1),
        "long tasks": len(long),
        "long tasks p95 ms": round(at(long, 0.95), 1),
        "worst task ms": round(tasks[-1], 1) if tasks else None,
        "long tasks p95 cpu ms": round(at(cpu, 0.95), 1),
        "worst task cpu ms": round(cpu[-1], 1) if cpu else None,
    }


def at(ordered: list[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else 0.0


def moved(page: Any) -> None:
    """The canvas is taken and moved to and fro for two seconds."""
    x, y = page.evaluate(EMPTY_SPOT)
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(100):
        page.mouse.move(x + (step % 50) * 8 - 200, y + (step % 25) * 6 - 75)
        page.wait_for_timeout(16)
    page.mouse.up()


def zoomed(page: Any) -> None:
    x, y = page.evaluate(EMPTY_SPOT)
    page.mouse.move(x, y)
    for step in range(40):
        page.mouse.wheel(0, -60 if step < 20 else 60)
        page.wait_for_timeout(30)


def full_size(page: Any) -> None:
    page.keyboard.press("0")
    page.wait_for_timeout(500)
    moved(page)


def chosen(page: Any) -> None:
    page.keyboard.press("1")
    page.wait_for_timeout(600)
    for number in (0, 1, 2, 1, 0):
        page.locator(f'.react-flow__node[data-id="s{number}"]').click(position={"x": 12, "y": 12})
        page.wait_for_timeout(200)


def dragged(page: Any) -> None:
    box = page.locator('.react-flow__node[data-id="s1"]').bounding_box()
    page.mouse.move(box["x"] + 30, box["y"] + 8)
    page.mouse.down()
    for step in range(60):
        page.mouse.move(box["x"] + 30 + step, box["y"] + 8 + step)
        page.wait_for_timeout(16)
    page.mouse.up()
    saved(page)


def edited(page: Any) -> None:
    page.locator('.react-flow__node[data-id="s1"]').click(position={"x": 12, "y": 12})
    page.locator("#ed-name").fill("Another name")
    page.keyboard.press("Enter")
    saved(page)
    page.locator(".react-flow__pane").press("Control+z")
    saved(page)


def tidied(page: Any) -> None:
    page.locator(".react-flow__pane").press("Shift+Alt+T")
    saved(page)
    page.wait_for_timeout(500)


def saved(page: Any) -> None:
    page.wait_for_selector('.ed-save[data-state="saved"]', timeout=30_000)
    page.wait_for_timeout(300)


STEPS: tuple[tuple[str, Callable[[Any], None]], ...] = (
    ("move the whole line", moved),
    ("zoom", zoomed),
    ("move at full size", full_size),
    ("choose", chosen),
    ("drag a station", dragged),
    ("rename and undo", edited),
    ("tidy", tidied),
)


def opened(page: Any, address: str) -> Json:
    """Return the median of the times, and the tasks of the slowest turn."""
    turns = []
    for _ in range(OPENED):
        # What this browser has laid out itself is of no use to who opens the line for the first time.
        page.evaluate("localStorage.clear()")
        with Trace(page) as trace:
            page.goto(address, wait_until="commit")
            page.wait_for_function("() => window.editableAt > 0", timeout=60_000)
            page.evaluate(TICK)
            page.wait_for_timeout(1500)
        turns.append((page.evaluate("() => window.editableAt") / 1000, told(trace)))
    turns.sort(key=lambda turn: turn[0])
    return {"editable seconds": round(turns[OPENED // 2][0], 2), **turns[-1][1]}


def measure(page: Any, paths: Mapping[int, str], largest: int, only_open: bool) -> Json:
    """Return what each canvas took, opened once before, so that the server has its code and its findings."""
    answer: Json = {}
    for stations, address in paths.items():
        page.goto(address)
        page.wait_for_selector('.react-flow[aria-busy="false"]', timeout=60_000)
        figures = answer[str(stations)] = {"open": opened(page, address)}
        steps = () if only_open else STEPS if stations == largest else STEPS[:1]
        for step, act in steps:
            page.evaluate(TICK)
            with Trace(page) as trace:
                act(page)
            figures[step] = told(trace)
    return answer


def verdict(found: Json) -> bool:
    """Return whether each canvas opened in time, without a task that is felt."""
    for stations, steps in found.items():
        worst = steps["open"]["worst task ms"]
        if steps["open"]["editable seconds"] > TARGET.get(int(stations), 2.0) or worst > WORST_TASK:
            return False
        if any(step["tasks p95 ms"] > TASKS_P95 for step in steps.values()):
            return False
    return True


def yardstick() -> float:
    """Return the seconds that twenty million additions take here and now."""
    begin, total = time.perf_counter(), 0
    for number in range(20_000_000):
        total += number
    return round(time.perf_counter() - begin, 2)


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Compute beside, in so many processes."""
    started = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--stations", type=int, default=300)
    parser.add_argument("--open", action="store_true")
    parser.add_argument("--load", type=int, default=0)
    given, _ = parser.parse_known_args()
    sizes = sorted({1, 60, given.stations})
    with database() as home:
        from tests.factories import make_world  # noqa: PLC0415  # after `database`

        world = make_world()
        paths = lines(world, sizes)
        screen = {"width": 1440, "height": 900}
        with browser("editor", home, world.admin, viewport=screen) as (page, address):
            page.add_init_script(f"({EDITABLE})()")
            addresses = {stations: address + path for stations, path in paths.items()}
            with busy(given.load):
                load, seconds = os.getloadavg()[0], yardstick()
                found = measure(page, addresses, given.stations, given.open)
    context = {"load before": round(load, 1), "processes beside": given.load, "yardstick seconds": seconds}
    keep("editor", {**context, **found})
    return 0 if verdict(found) else 1


def lines(world: Any, sizes: Sequence[int]) -> dict[int, str]:
    """Return the address of the canvas of a line of so many stations, each drawn by the server."""
    from django.urls import reverse  # noqa: PLC0415  # after `database`

    from pipelines.lines.publishing import create_line  # noqa: PLC0415  # after `database`
    from pipelines.web.editor.canvas_drawing import draw_canvas  # noqa: PLC0415  # after `database`

    project = world.project
    paths = {}
    for stations in sizes:
        key = f"line-{stations}"
        document: Json = {**line_of(stations), "key": key, "name": f"{stations} stations"}
        # As the queue does when a draft was saved
        draw_canvas(create_line(project, key, document["name"], document, world.admin))
        paths[stations] = reverse("line-draw", args=[project.owner.key, project.key, key])
    return paths


if __name__ == "__main__":
    sys.exit(main())
