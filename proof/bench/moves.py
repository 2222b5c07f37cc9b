"""Moves per second through a line of ten `noop` stations, with one and two workers, beside pgbench running a minimal
hand-written move (lock, update, insert the event, commit) on the same server in the same run.

    python -m proof.bench.moves [--tasks 300] [--seconds 10]

A move is a commit: stations that do nothing are not passed through in one, but in a row of its own, which says how
many stations a second that makes.

The clock runs from the first move to the last, and none is made before every worker is there. A worker takes up to a
hundred tasks at once: give several of them a few hundred each, or some have nothing to do in the end. The server is one
of its own, writing to disk, in a temporary folder."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from proof.bench.rig import database, keep
from proof.soak.fleet import Fleet

STATIONS = 10
TABLES = """
CREATE TABLE bench_task (id int PRIMARY KEY, station int NOT NULL, seq int NOT NULL, status text NOT NULL);
CREATE TABLE bench_event (task_id int REFERENCES bench_task, seq int, kind text, at timestamptz, data jsonb,
                          PRIMARY KEY (task_id, seq));
INSERT INTO bench_task SELECT n, 0, 0, 'queued' FROM generate_series(1, 2000) n;
"""
MOVE = r"""
\set id random(1, 2000)
BEGIN;
SELECT seq + 1 AS seq FROM bench_task WHERE id = :id FOR NO KEY UPDATE \gset
UPDATE bench_task SET station = station + 1, seq = :seq, status = 'queued' WHERE id = :id;
INSERT INTO bench_event VALUES (:id, :seq, 'token.moved', clock_timestamp(), '{"from": "a", "to": "b"}');
COMMIT;
"""


def pgbench(folder: Path, seconds: float, clients: int) -> float:
    """Hand-written moves per second."""
    from config.embedded import binaries, layout  # noqa: PLC0415  # after `database`

    script = folder / "move.sql"
    script.write_text(MOVE)
    facts = layout.connection_settings(folder)
    done = subprocess.run(
        [
            str(binaries.find_binaries().folder / "pgbench"),
            *("--no-vacuum", "--file", str(script), "--client", str(clients), "--jobs", "2"),
            *("--time", str(int(seconds)), "--host", str(facts["HOST"]), "--port", str(facts["PORT"])),
            *("--username", str(facts["USER"]), str(facts["NAME"])),
        ],
        env={**os.environ, "PGPASSWORD": str(facts["PASSWORD"])},
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"tps = ([\d.]+)", done.stdout)
    assert found, done.stdout + done.stderr
    return float(found.group(1))


def moves(
    home: Path, workers: int, concurrency: int, tasks: int, *, passing_through: bool = False
) -> dict[str, Any]:
    """Tasks wait in the queue until all workers are there; the clock runs from the first move to the last."""
    from django.db import connection  # noqa: PLC0415  # after `database`

    from pipelines.models import Event, Task  # noqa: PLC0415  # after `database`
    from tests.factories import make_world  # noqa: PLC0415  # after `database`

    world = make_world()
    version = world.line(stations=[f"s{number}" for number in range(STATIONS)])
    ids = [world.start(version).pk for _ in range(tasks)]
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    os.environ["GATELINE_WORKER_CONCURRENCY"] = str(concurrency)
    os.environ["GATELINE_PASS_THROUGH"] = "yes" if passing_through else "no"
    fleet = Fleet(home, ("none",) * workers, None)
    try:
        start_together(fleet)
        deadline = time.monotonic() + 600
        before = cpu(fleet)
        while Task.objects.filter(pk__in=ids, ended_at=None).exists():
            assert time.monotonic() < deadline, "the tasks did not end"
            time.sleep(0.05 if passing_through else 0.2)
        with connection.cursor() as cursor:
            cursor.execute("SELECT clock_timestamp()")
            (ended,) = cursor.fetchone()
        taken = cpu(fleet) - before
    finally:
        fleet.stop()
    times = (
        Event.objects.filter(task__in=ids, kind="job.reported").order_by("at").values_list("at", flat=True)
    )
    done = Counter(Event.objects.filter(task__in=ids, kind="job.reported").values_list("actor", flat=True))
    first, last, count = times[0], times.reverse()[0], times.count()
    if passing_through:
        # Its times are those at which a transaction of hundreds of stations began, and not of its end.
        last = ended
    seconds = (last - first).total_seconds()
    return {
        "workers": workers,
        "stations at once, each": concurrency,
        "passing through": passing_through,
        "moves": count,
        "of each": sorted(done.values()),
        "seconds": round(seconds, 2),
        "per second": round(count / seconds, 1),
        "ms of its processor a move": round(1000 * taken / count, 3),
    }


def start_together(fleet: Fleet) -> None:
    """What a process takes to start is no part of a move: tickets are locked until each of them asks for some."""
    from django.db import connection, transaction  # noqa: PLC0415  # after `database`

    from pipelines.ports import queue  # noqa: PLC0415  # after `database`
    from pipelines.ports.terms import QUICK  # noqa: PLC0415  # after `database`

    here = "SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat > %s"
    deadline = time.monotonic() + 300
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT id FROM procrastinate_jobs FOR UPDATE")
        cursor.execute("SELECT clock_timestamp()")
        (began,) = cursor.fetchone()
        fleet.tend()
        while True:
            cursor.execute(here, [began])
            if cursor.fetchone()[0] >= len(fleet.workers):
                break
            assert time.monotonic() < deadline, "not every worker started"
            time.sleep(0.05)
    queue.enqueue_token_tickets([0], QUICK)  # of no token: all of them look at once


def cpu(fleet: Fleet) -> float:
    """Seconds of the processor that its workers took so far."""
    return sum(cpu_of(worker.process.pid) for worker in fleet.workers if worker.process is not None)


def cpu_of(pid: int) -> float:
    """0.0 of a process that has ended."""
    try:
        said = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(said[11]) + int(said[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--concurrency", type=int, default=16)
    given, _ = parser.parse_known_args()
    with database() as home:
        from django.db import connection  # noqa: PLC0415  # after `database`

        with connection.cursor() as cursor:
            cursor.execute(TABLES)
        by_hand = {clients: [pgbench(home, given.seconds / 2, clients)] for clients in (1, 8)}
        measured = [
            moves(home, workers, given.concurrency, given.tasks, passing_through=through)
            for workers in (1, 2)
            for through in (False, True)
        ]
        for clients, found in by_hand.items():
            found.append(pgbench(home, given.seconds / 2, clients))
    mean = {clients: sum(found) / len(found) for clients, found in by_hand.items()}
    for one in measured:
        one["ratio to 1 client"] = round(one["per second"] / mean[1], 3)
        one["ratio to 8 clients"] = round(one["per second"] / mean[8], 3)
    answer = {
        "stations": STATIONS,
        "pgbench moves per second": {
            f"{clients} clients": round(value, 1) for clients, value in mean.items()
        },
        "gateline": measured,
    }
    keep("moves", answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
