"""What an index costs each row that enters it: the same rows written into two copies of its table, one without it, by
turns, on a server of `proof.bench.scale`.

    python -m proof.bench.index_cost --keep FOLDER [--of decision_of_version …] [--rounds 10]

Both copies begin with the older half of the rows and all their indexes; each turn writes the next rows of the newer
half in their order, after a checkpoint, and every second round has the other order. Prints microseconds of PostgreSQL's
processor and bytes written ahead a row with the index, and how much of it is the index's: the quarters of the rounds.
Whole moves do not tell: what else runs changes their cost by more than an index is."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from pathlib import Path
from typing import Any

from proof.bench.rig import database, keep

OF = ("decision_of_version", "job_of_version", "vote_with_reason", "gate_visit_over_at")
"""Of migration 0154."""
COPIES = ("index_cost_with", "index_cost_without")


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


def copies(index: str) -> tuple[str, int]:
    """Makes both, with the older half of the rows. The table, and how many rows that is."""
    [[table, told]] = ask("SELECT tablename, indexdef FROM pg_indexes WHERE indexname = %s", index)
    [[half]] = ask(f"SELECT count(*) / 2 FROM {table}")
    for copy in COPIES:
        ask(f"DROP TABLE IF EXISTS {copy}")
        ask(f"CREATE TABLE {copy} (LIKE {table} INCLUDING ALL)")
    same = told.partition(" USING ")[2]
    rows = ask("SELECT indexname, indexdef FROM pg_indexes WHERE tablename = %s", COPIES[1])
    [name] = [name for name, text in rows if text.partition(" USING ")[2] == same]
    ask(f"DROP INDEX {name}")
    for copy in COPIES:
        ask(f"INSERT INTO {copy} SELECT * FROM {table} ORDER BY ctid LIMIT {half}")
        ask(f"VACUUM ANALYZE {copy}")
    return table, half


def turn(table: str, copy: str, first: int, rows: int) -> tuple[float, float]:
    """Microseconds and bytes, for each row."""
    ask("CHECKPOINT")
    seconds, log = processor(), written_ahead()
    ask(f"INSERT INTO {copy} SELECT * FROM {table} ORDER BY ctid OFFSET {first} LIMIT {rows}")
    return (processor() - seconds) * 1e6 / rows, (written_ahead() - log) / rows


def measured(index: str, rounds: int) -> dict[str, Any]:
    table, half = copies(index)
    rows = half // rounds
    found: dict[str, list[tuple[float, float]]] = {copy: [] for copy in COPIES}
    for number in range(rounds):
        for copy in sorted(COPIES, reverse=number % 2 == 1):
            found[copy].append(turn(table, copy, half + number * rows, rows))
    pairs = list(zip(*found.values(), strict=True))
    [[entered, size]] = ask(
        f"SELECT reltuples, pg_relation_size(oid) FROM pg_class WHERE relname = '{index}'"
    )
    for copy in COPIES:
        ask(f"DROP TABLE {copy}")
    return {
        "rows a turn": rows,
        "entries, MB": [int(entered), round(size / 1e6, 1)],
        "µs a row": round(statistics.median(each[0] for each in found[COPIES[0]]), 1),
        "µs of the index": [round(q, 1) for q in statistics.quantiles([a[0] - b[0] for a, b in pairs], n=4)],
        "bytes a row": round(statistics.median(each[1] for each in found[COPIES[0]])),
        "bytes of the index": round(statistics.median(a[1] - b[1] for a, b in pairs)),
    }


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--keep", type=Path, required=True)
    asked.add_argument("--of", nargs="+", default=list(OF))
    asked.add_argument("--rounds", type=int, default=10)
    given, _ = asked.parse_known_args()
    load = [round(each, 1) for each in os.getloadavg()]
    with database(given.keep.resolve()):
        keep("index_cost", {"load": load, **{index: measured(index, given.rounds) for index in given.of}})
    return 0


if __name__ == "__main__":
    sys.exit(main())
