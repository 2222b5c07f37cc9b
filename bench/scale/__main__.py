"""What a year of a large team costs: every main page, p50 and p95, with processor time, statements and plans.

    python -m bench.scale [--keep FOLDER] [--rounds 20] [--only NAME …] [--plans] [--tasks 150000] [--reviews 100000]

150,000 tasks on 50 lines of 5 projects, 100,000 reviews of which 50,000 are open, 10,000 living cards on one board.
With `--keep` the server and its data stay in that folder, and the next run begins with them. `--plans` writes
`bench/plans`. Prints one table: milliseconds on the wall, of Python's processor and of PostgreSQL's for one request,
and in statements; exit code 1 if a statement reads a table that grows from end to end."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.rig import RESULTS, database

PLANS = Path(__file__).resolve().parent.parent / "plans"
COLUMNS = ("p50", "p95", "python", "python95", "postgres", "sql", "statements", "kilobytes")


def run(given: argparse.Namespace) -> dict[str, Any]:
    from bench.scale import data, measure, pages  # noqa: PLC0415  # after `database`
    from pipelines.ports.collector import settle_down  # noqa: PLC0415  # after `database`

    if not data.there():
        began = time.monotonic()
        data.make(data.Size(given.tasks, given.reviews // 2, given.reviews // 2, given.board, given.lines))
        print(f"made in {time.monotonic() - began:.0f} s", file=sys.stderr)
    load, stick = [round(each, 1) for each in os.getloadavg()], measure.yardstick()
    answer: dict[str, Any] = {
        "load": load,
        "yardstick": stick,
        "rows": data.counts(),
        "pages": {},
        "scans": {},
    }
    print(f"load {load}, yardstick {stick} ms, {answer['rows']}", flush=True)
    print(f"| {'':30} | " + " | ".join(COLUMNS) + " |", flush=True)
    settle_down()
    for name, act in pages.acts().items():
        if given.only and not any(each.lower() in name.lower() for each in given.only):
            continue
        found = asdict(measure.cost(act, given.rounds))
        answer["pages"][name] = found
        print(f"| {name:30} | " + " | ".join(f"{found[each]:>9}" for each in COLUMNS) + " |", flush=True)
        text, scans = measure.plans(act)
        if scans:
            answer["scans"][name] = scans
        if given.plans:
            PLANS.mkdir(exist_ok=True)
            slug = "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())
            (PLANS / f"{slug}.txt").write_text(text)
    return answer


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--keep", type=Path)
    asked.add_argument("--rounds", type=int, default=20)
    asked.add_argument("--only", nargs="*")
    asked.add_argument("--plans", action="store_true")
    for name, usual in (("tasks", 150_000), ("reviews", 100_000), ("board", 10_000), ("lines", 50)):
        asked.add_argument(f"--{name}", type=int, default=usual)
    given, _ = asked.parse_known_args()
    with database(given.keep and given.keep.resolve()):
        answer = run(given)
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "scale.json").write_text(json.dumps(answer, indent=2) + "\n")
    for name, scans in answer["scans"].items():
        print(f"{name}: {scans}", file=sys.stderr)
    return 1 if answer["scans"] else 0


if __name__ == "__main__":
    sys.exit(main())
