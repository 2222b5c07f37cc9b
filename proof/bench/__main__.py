"""`make bench`: every measurement, one after the other, each in a process of its own, into proof/bench/results, and one
table of the goals at the end.

    python -m proof.bench [NAME …] [--quick] [OPTIONS of the measurements]

`--quick`: each with the shortest options that measure anything. It needs what `make check` needs, `pip` for the others
that are measured beside Gateline, and a Chromium for `board` and `editor`, which end without one and say so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from proof.bench.rig import RESULTS
from proof.bench.yardstick import yardstick

QUICK: Final = {
    "routing": "--sizes 10 1000 --rounds 100",
    "editor_findings": "--stations 1000 --saves 5",
    "cost": "--tasks 10 --sizes 1 50 --rounds 1",
    "moves": "--tasks 30 --seconds 2",
    "claims": "--queued 10000 --sets 5 --rounds 10",
    "reports": "--tasks 10",
    "contenders": "--tasks 20 --rounds 1",
    "servers": "--requests 50 --rounds 1",
    "law": "--tasks 50 --finished 10000 --open 100",
    "backtest": "--decisions 5000 --tasks 20",
    "analytics": "--decisions 5000 --tasks 20",
    "live": "--moves 20 --sockets 1 10",
    "board": "--tasks 200 --minutes 0.2",
    "editor": "--stations 50",
    "changes": "--files 50 --rounds 1",
}
"""{measurement: its shortest options}, in their order."""
Results = dict[str, Any]


@dataclass(frozen=True)
class Goal:
    """What was promised of a figure. `at_least`: else it is to be at most `bound`."""

    what: str
    bench: str
    bound: float
    figure: Callable[[Results], float]
    at_least: bool = True


def _rate(row: str) -> Callable[[Results], float]:
    return lambda results: results["medians"][row]["per second"]


def _ratio(row: str, other: str) -> Callable[[Results], float]:
    return lambda results: _rate(row)(results) / _rate(other)(results)


def _processor(results: Results, line: str) -> float:
    costs = results["an empty database"][line]
    return float(costs["ms of Python"] + costs["ms of PostgreSQL"])


ONE, TWO = "gateline, 1 worker", "gateline, 2 workers"
LONE, SIXTEEN = "gateline, a report over HTTP each", "gateline, runners of four places"
GOALS: Final = (
    Goal("two workers, times one", "contenders", 1.7, _ratio(TWO, ONE)),
    Goal("times viewflow", "contenders", 10, _ratio(ONE, "viewflow")),
    Goal("times DBOS", "contenders", 10, _ratio(ONE, "dbos")),
    Goal("times pgbench with 8 clients", "contenders", 0.5, _ratio(ONE, "pgbench, 8 clients")),
    Goal("16 in hand one by one, times four in each call", "contenders", 0.6, _ratio(LONE, SIXTEEN)),
    Goal(
        "whole law, processor time times plain",
        "law",
        1.3,
        lambda results: (
            _processor(results, "fork, loop and gate") / _processor(results, "twelve noop stations")
        ),
        at_least=False,
    ),
    Goal(
        "lint of a one-word edit, ms",
        "editor_findings",
        50,
        lambda results: 1000 * max(row["warm cpu median"] for row in results["saves"]),
        at_least=False,
    ),
)


def main(words: list[str]) -> int:
    quick = "--quick" in words
    chosen = [word for word in words if word in QUICK] or list(QUICK)
    more = [word for word in words if word not in QUICK and word != "--quick"]
    rows, failed = [], 0
    for name in chosen:
        options = [*(QUICK[name].split() if quick else ()), *more]
        load, speed, began = os.getloadavg()[0], yardstick(), time.monotonic()
        (RESULTS / f"{name}.json").unlink(missing_ok=True)
        code = subprocess.run([sys.executable, "-m", f"proof.bench.{name}", *options], check=False).returncode
        failed = max(failed, abs(code))
        rows.append((name, " ".join(options), code, time.monotonic() - began, load, speed))
    print(table(rows))
    return failed


def table(rows: list[tuple[str, str, int, float, float, float]]) -> str:
    """Render what was measured, and each goal of it beside the load and the yardstick of its measurement."""
    lines = ["| measurement | options | ended | seconds | load | yardstick, s |", "|---|---|---|---|---|---|"]
    for name, options, code, seconds, load, speed in rows:
        ended = f"exit code {code}" if code else "well" if _results(name) else "skipped"
        lines.append(f"| {name} | {options} | {ended} | {seconds:.0f} | {load:.1f} | {speed:.2f} |")
    lines += ["", "| goal | bound | measured | met | command |", "|---|---|---|---|---|"]
    for goal in GOALS:
        if goal.bench in {name for name, *_ in rows}:
            lines.append(_goal_row(goal, _results(goal.bench)))
    return "\n".join(lines)


def _goal_row(goal: Goal, results: Results | None) -> str:
    bound = f"{'≥' if goal.at_least else '≤'} {goal.bound:g}"
    measured, met = "–", "–"
    if results is not None:
        figure = goal.figure(results)
        measured = f"{figure:.2f}"
        met = "yes" if (figure >= goal.bound) is goal.at_least or figure == goal.bound else "no"
    return f"| {goal.what} | {bound} | {measured} | {met} | `python -m proof.bench.{goal.bench}` |"


def _results(name: str) -> Results | None:
    path = RESULTS / f"{name}.json"
    found: Results | None = json.loads(path.read_text()) if path.exists() else None
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
