"""Moves per second beside others that keep each step in PostgreSQL, on one server, in rounds: A B C A B C.

    python -m proof.bench.contenders [--tasks 100] [--rounds 3] [--at-once 16]

The contenders live in an environment of their own (.contenders, made here from requirements.txt by pip), never in the
product's. Beside each row: the seconds of the processor that its own processes took, without PostgreSQL's, and the load
of the machine when it began. What the disk gives is told by pg_test_fsync."""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from proof.bench import moves as own
from proof.bench.contenders.environment import ROOT, python
from proof.bench.reports import reports
from proof.bench.rig import Json, database, keep

NAMES = ("viewflow", "dbos", "procrastinate")


def contender(name: str, tasks: int, at_once: int) -> Json:
    """In a database of its own that is made anew."""
    from django.conf import settings  # noqa: PLC0415  # after `database`
    from django.db import connection  # noqa: PLC0415  # after `database`

    from config.embedded import layout  # noqa: PLC0415  # after `database`

    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS bench_{name} WITH (FORCE)")
        cursor.execute(f"CREATE DATABASE bench_{name}")
    facts = layout.connection_settings(settings.DATA_DIR)
    user, host = (
        f"{facts['USER']}:{quote(str(facts['PASSWORD']), safe='')}",
        quote(str(facts["HOST"]), safe=""),
    )
    address = f"postgresql://{user}@/bench_{name}?host={host}&port={facts['PORT']}"
    command = [python(), "-m", f"proof.bench.contenders.{name}_moves", address, str(tasks), str(at_once)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = json.loads(next(line for line in reversed(done.stdout.splitlines()) if line.startswith("{")))
    return {
        "per second": told["moves"] / told["seconds"],
        "ms of its processor a move": 1000 * told["cpu"] / told["moves"],
    }


def gateline(home: Path, workers: int, tasks: int, at_once: int, *, passing_through: bool = False) -> Json:
    told = own.moves(home, workers, at_once, tasks, passing_through=passing_through)
    return {key: told[key] for key in ("per second", "ms of its processor a move")}


def over_http(home: Path, tasks: int, at_once: int, together: int = 1) -> Json:
    told = reports(home, tasks, at_once // together, together)
    return {key: told[key] for key in ("per second", "ms of its processor a move")}


def disk(home: Path) -> str:
    """Microseconds of one 8 kB write and its sync, as PostgreSQL does them."""
    from config.embedded import binaries  # noqa: PLC0415  # after `database`

    program = binaries.find_binaries().folder / "pg_test_fsync"
    if not program.exists():
        return "pg_test_fsync is not there"
    given = [str(program), "--secs-per-test=1", "-f", str(home / "sync")]
    found = re.search(
        r"fdatasync\s+[\d.]+ ops/sec\s+(\d+) usecs/op",
        subprocess.run(given, capture_output=True, text=True).stdout,
    )
    return f"{found[1]} µs a sync" if found else "not told"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--at-once", type=int, default=16)
    given, _ = parser.parse_known_args()
    tasks, at_once = given.tasks, given.at_once
    python()
    with database() as home:
        from django.db import connection  # noqa: PLC0415  # after `database`

        with connection.cursor() as cursor:
            cursor.execute(own.TABLES)
        rows: dict[str, Callable[[], Json]] = {
            "pgbench, 1 client": lambda: {"per second": own.pgbench(home, 3, 1)},
            "pgbench, 8 clients": lambda: {"per second": own.pgbench(home, 3, 8)},
            "gateline, 1 worker": lambda: gateline(home, 1, tasks, at_once),
            "gateline, 2 workers": lambda: gateline(home, 2, tasks, at_once),
            "gateline, 1 worker, pass-through": lambda: gateline(
                home, 1, tasks, at_once, passing_through=True
            ),
            "gateline, 2 workers, pass-through": lambda: gateline(
                home, 2, tasks, at_once, passing_through=True
            ),
            "gateline, a report over HTTP each": lambda: over_http(home, tasks, at_once),
            "gateline, runners of four places": lambda: over_http(home, tasks, at_once, 4),
            "gateline, runners of twelve places": lambda: over_http(home, tasks, 48, 12),
            **{name: (lambda name=name: contender(name, tasks, at_once)) for name in NAMES},  # type: ignore[misc]
        }
        synced = disk(home)
        found: dict[str, list[Json]] = {name: [] for name in rows}
        for _round in range(given.rounds):
            for name, measure in rows.items():
                load = os.getloadavg()[0]
                found[name].append({**measure(), "load": load})
    table = {name: {key: median(told, key) for key in told[0]} for name, told in found.items()}
    keep(
        "contenders", {"disk": synced, "rounds": given.rounds, "moves of a row": 10 * tasks, "medians": table}
    )
    for name, row in table.items():
        cpu = row.get("ms of its processor a move", "–")
        print(f"| {name} | {row['per second']} | {cpu} | {row['load']} |", file=sys.stderr)
    return 0


def median(told: list[dict[str, Any]], key: str) -> float:
    return round(statistics.median(each[key] for each in told), 2)


if __name__ == "__main__":
    sys.exit(main())
