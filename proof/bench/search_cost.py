"""What the index of texts costs: to make it, and each new task, with a short list of what is pending (as it is), the
usual one, none, and without an index; by turns, in copies of the texts of a server of `proof.bench.scale`.

    python -m proof.bench.search_cost --keep FOLDER [--rounds 4] [--tasks 6000] [--copies 1] [--of "512 kB pending" …]

A turn writes so many texts, one statement each, and so empties each list several times: the mean is told, and the
longest statement, which emptied one. Processor time of PostgreSQL, in one process; making them, of so many copies of
the texts, on the wall, too."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from proof.bench.index_cost import ask, processor, written_ahead
from proof.bench.rig import database, keep

LISTS = {
    "512 kB pending": "WITH (gin_pending_list_limit = 512)",
    "4 MB pending": "",
    "none pending": "WITH (fastupdate = off)",
    "no index": None,
}
FILL = """INSERT INTO {} SELECT id + copy * 10^11::bigint, gateline_task_text(title, labels, number)
          FROM pipelines_task, generate_series(0, {} - 1) copy"""
TURN = """DO $$
DECLARE began timestamptz; longest interval := '0'; each record;
BEGIN
    FOR each IN SELECT task_id + {shift} AS task_id, text FROM pipelines_tasktext ORDER BY task_id LIMIT {tasks} LOOP
        began := clock_timestamp();
        INSERT INTO {table} VALUES (each.task_id, each.text);
        longest := greatest(longest, clock_timestamp() - began);
    END LOOP;
    PERFORM set_config('bench.longest', (extract(epoch FROM longest) * 1000)::text, false);
END $$"""


def made(table: str, options: str | None, copies: int) -> dict[str, float]:
    """Seconds to write the texts and to make the index: on the wall, and of the processor."""
    ask(f"DROP TABLE IF EXISTS {table}")
    ask(
        f"CREATE TABLE {table} (task_id bigint PRIMARY KEY, text text NOT NULL) WITH (autovacuum_enabled = false)"
    )
    found = {}
    index = f"CREATE INDEX ON {table} USING gin (gateline_grams(text)) {options}"
    for name, sql in (
        ("texts", FILL.format(table, copies)),
        ("index", index if options is not None else "SELECT"),
    ):
        began, computed = time.monotonic(), processor()
        ask(sql)
        found |= {
            name: round(time.monotonic() - began, 1),
            f"{name}, processor": round(processor() - computed, 1),
        }
    return found


def turn(table: str, tasks: int, number: int) -> tuple[float, float, float]:
    """Milliseconds and bytes written ahead for each, and milliseconds of the longest."""
    computed, log = processor(), written_ahead()
    ask(TURN.format(table=table, tasks=tasks, shift=(number + 1) * 10**12))
    took, written = (processor() - computed) * 1000 / tasks, (written_ahead() - log) / tasks
    [[longest]] = ask("SELECT current_setting('bench.longest')")
    return took, written, float(longest)


def measured(given: argparse.Namespace) -> dict[str, Any]:
    tables = {name: f"search_cost_{number}" for number, name in enumerate(given.of)}
    ask("SET max_parallel_maintenance_workers = 0")  # all of it in this connection's process
    answer: dict[str, Any] = {
        name: {"made": made(table, LISTS[name], given.copies)} for name, table in tables.items()
    }
    turns: dict[str, list[tuple[float, float, float]]] = {name: [] for name in tables}
    for number in range(given.rounds):
        for name in sorted(tables, reverse=number % 2 == 1):
            turns[name].append(turn(tables[name], given.tasks, number))
    for name, found in turns.items():
        took, written, longest = zip(*found, strict=True)
        answer[name] |= {
            "ms of PostgreSQL a task": round(statistics.mean(took), 3),
            "of each round": [round(each, 3) for each in took],
            "bytes written ahead a task": round(statistics.mean(written)),
            "ms of the longest": round(statistics.median(longest), 1),
        }
        ask(f"DROP TABLE {tables[name]}")
    return answer


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--keep", type=Path, required=True)
    asked.add_argument("--rounds", type=int, default=4)
    asked.add_argument("--tasks", type=int, default=6_000)
    asked.add_argument("--copies", type=int, default=1)
    asked.add_argument("--of", nargs="+", default=list(LISTS), choices=list(LISTS))
    given, _ = asked.parse_known_args()
    load = [round(each, 1) for each in os.getloadavg()]
    with database(given.keep.resolve()):
        [[texts]] = ask("SELECT count(*) FROM pipelines_tasktext")
        keep(
            "search_cost",
            {"load": load, "texts": texts * given.copies, "tasks": given.tasks, **measured(given)},
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
