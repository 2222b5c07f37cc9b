"""What indexes cost a move: the same moves with them and without, by turns, on one server that writes to disk.

    python -m bench.index_cost [--of decision_of_version …] [--rounds 6] [--tasks 20]

A move is one report of one of ten stations without work, by one connection. Prints the processor time of PostgreSQL and
the bytes that it writes ahead for each; the median of the rounds. Each turn begins with a checkpoint, after which a
page that is written for the first time is written ahead as a whole, and every second round has the other order."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from pathlib import Path
from typing import Any

from bench.rig import database, keep

STATIONS = 10
OF = ("decision_of_version", "job_of_version", "vote_with_reason", "gate_visit_over_at")
"""Of migration 0154."""


def moves(world: Any, version: Any, tasks: int) -> tuple[float, float]:
    """Milliseconds of PostgreSQL and bytes of its log, for each move."""
    started = [world.start(version) for _ in range(tasks)]
    seconds, log = processor(), written_ahead()
    for _station in range(STATIONS):
        for task in started:
            world.report(task)
    count = tasks * STATIONS
    return (processor() - seconds) * 1000 / count, (written_ahead() - log) / count


def ask(sql: str, *values: Any) -> list[tuple[Any, ...]]:
    from django.db import connection  # noqa: PLC0415  # after `database`

    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall()) if cursor.description else []


def processor() -> float:
    """Seconds that this connection's process has computed."""
    [[pid]] = ask("SELECT pg_backend_pid()")
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def written_ahead() -> int:
    [[written]] = ask("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
    return int(written)


def measured(given: argparse.Namespace) -> dict[str, Any]:
    from tests.factories import make_world  # noqa: PLC0415  # after `database`

    world = make_world()
    version = world.line(stations=[f"s{number}" for number in range(STATIONS)])
    told = [text for name in given.of for (text,) in ask("SELECT pg_get_indexdef(%s::regclass)", name)]
    made = [text.replace(" INDEX ", " INDEX IF NOT EXISTS ", 1) for text in told]
    moves(world, version, given.tasks)  # statements are prepared, pages are there
    found: dict[str, list[tuple[float, float]]] = {"with": [], "without": []}
    for number in range(given.rounds):
        for name in sorted(found, reverse=number % 2 == 1):
            for index, text in zip(given.of, made, strict=True):
                ask(text if name == "with" else f"DROP INDEX IF EXISTS {index}")
            ask("CHECKPOINT")
            found[name].append(moves(world, version, given.tasks))
    return {
        name: {
            "ms of PostgreSQL a move": round(statistics.median(each[0] for each in rounds), 3),
            "of each round": [round(each[0], 3) for each in rounds],
            "bytes written ahead": round(statistics.median(each[1] for each in rounds)),
        }
        for name, rounds in found.items()
    }


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--of", nargs="+", default=list(OF))
    asked.add_argument("--rounds", type=int, default=6)
    asked.add_argument("--tasks", type=int, default=20)
    given, _ = asked.parse_known_args()
    load = [round(each, 1) for each in os.getloadavg()]
    with database():
        keep("index_cost", {"load": load, "of": given.of, "moves": given.tasks * STATIONS, **measured(given)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
