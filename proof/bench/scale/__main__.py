"""What a large team costs after a while: every main page, p50 and p95, with processor time, statements and plans.

    python -m proof.bench.scale [--tasks 150000 …] [--keep FOLDER] [--rounds 20] [--only NAME …] [--plans]

On 50 lines of 5 projects, of each three tasks one with a review that is over. Of 150,000 tasks 50,000 wait for a review
and 10,000 live on one board; of fewer it is the same part, of more the same number. With `--keep` the servers and their
data stay in that folder, and the next run begins with them. Prints one table: milliseconds on the wall, of Python's
processor and of PostgreSQL's for one request, and in statements. `--plans` writes `proof/bench/plans`. Of several
numbers of tasks it prints, for each page, p50 of each and its exponent. Exit code 1 if a statement reads a table that
grows from end to end; below 150,000 tasks nobody asks, for reading a small table is right."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from proof.bench.rig import RESULTS, database, exponent

PLANS = Path(__file__).resolve().parent.parent / "plans"
COLUMNS = ("p50", "p95", "python", "python95", "postgres", "sql", "statements", "kilobytes")
LARGE = 150_000
"""Tasks, from which on no table that grows may be read from end to end."""


def run(given: argparse.Namespace) -> dict[str, Any]:
    from pipelines.ports.garbage_collection import collect_seldom_while_loading, exempt_loaded_objects  # noqa: PLC0415  # after `database`
    from proof.bench.scale import data, measure, pages  # noqa: PLC0415  # after `database`

    if not data.there():
        began = time.monotonic()
        data.make(data.Size(given.tasks[0], given.lines))
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
    collect_seldom_while_loading()
    exempt_loaded_objects()
    for name, act in pages.acts().items():
        if given.only and not any(each.lower() in name.lower() for each in given.only):
            continue
        found = asdict(measure.cost(act, given.rounds))
        answer["pages"][name] = found
        print(f"| {name:30} | " + " | ".join(f"{found[each]:>9}" for each in COLUMNS) + " |", flush=True)
        text, scans = measure.plans(act)
        if scans and given.tasks[0] >= LARGE:
            answer["scans"][name] = scans
        if given.plans:
            PLANS.mkdir(exist_ok=True)
            slug = "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())
            (PLANS / f"{slug}.txt").write_text(text)
    return answer


def measured(given: argparse.Namespace, kept: Path | None) -> int:
    """One number of tasks, in this process."""
    with database(kept):
        answer = run(given)
    RESULTS.mkdir(exist_ok=True)
    _result(given.tasks[0]).write_text(json.dumps(answer, indent=2) + "\n")
    for name, scans in answer["scans"].items():
        print(f"{name}: {scans}", file=sys.stderr)
    return 1 if answer["scans"] else 0


def compared(given: argparse.Namespace, kept: Path) -> int:
    """Each number of tasks in a process and on a server of its own, for Django knows one; then what grows how."""
    passed = [
        "--rounds",
        str(given.rounds),
        "--lines",
        str(given.lines),
        *(["--plans"] if given.plans else []),
    ]
    passed += ["--only", *given.only] if given.only else []
    wrong = 0
    for tasks in given.tasks:
        print(f"\n{tasks:,} tasks", flush=True)
        asked = [
            sys.executable,
            "-m",
            "proof.bench.scale",
            "--tasks",
            str(tasks),
            "--keep",
            str(kept / str(tasks)),
        ]
        wrong |= subprocess.run([*asked, *passed], check=False).returncode
    print("\n" + slopes({tasks: json.loads(_result(tasks).read_text())["pages"] for tasks in given.tasks}))
    return wrong


def slopes(pages: dict[int, dict[str, Any]]) -> str:
    """A table of p50 by the number of tasks, with two exponents of it: over all numbers, and of the last two."""
    sizes = sorted(pages)
    rows = [["p50, ms", *(f"{size:,}" for size in sizes), "exponent", "of the last two"]]
    rows.append(["---"] * len(rows[0]))
    for name in pages[sizes[-1]]:
        points = [(size, max(pages[size][name]["p50"], 0.1)) for size in sizes]
        rows.append([name, *(str(cost) for _size, cost in points)])
        rows[-1] += [f"{exponent(points):.2f}", f"{exponent(points[-2:]):.2f}"]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _result(tasks: int) -> Path:
    return RESULTS / f"scale-{tasks}.json"


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--tasks", type=int, nargs="+", default=[150_000])
    asked.add_argument("--keep", type=Path)
    asked.add_argument("--rounds", type=int, default=20)
    asked.add_argument("--only", nargs="*")
    asked.add_argument("--plans", action="store_true")
    asked.add_argument("--lines", type=int, default=50)
    given, _ = asked.parse_known_args()
    kept = given.keep and given.keep.resolve()
    if len(given.tasks) == 1:
        return measured(given, kept)
    if kept:
        return compared(given, kept)
    with tempfile.TemporaryDirectory(prefix="gl-scale-") as folder:
        return compared(given, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
