"""What a move costs, in figures that a busy machine cannot falsify: how often the server waited for the next request
(round trips, and the disk), and seconds of the processor here and in PostgreSQL.

    python -m proof.bench.cost [--tasks 100] [--sizes 1 8 50] [--profile]

Tasks go through ten `noop` stations, as many reports in a batch as `--sizes` says, as a worker sends them: report, and
the orders of what comes next. Of the rounds the least counts: what else runs only adds. The server is one of its own,
in a temporary folder."""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from proof.bench.rig import Json, database, keep

STATIONS = 10


class Backend:
    """The process of the server behind this thread's connection."""

    def __init__(self) -> None:
        from django.db import connection  # noqa: PLC0415  # after `database`

        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            self.folder = Path("/proc") / str(cursor.fetchone()[0])

    def cpu(self) -> float:
        """Seconds, as the scheduler counted them."""
        return int((self.folder / "schedstat").read_text().split()[0]) / 1e9

    def waits(self) -> int:
        lines = (self.folder / "status").read_text().splitlines()
        return next(int(each.split()[1]) for each in lines if each.startswith("voluntary"))


def begin(world: Any, version: Any, tasks: int) -> list[Any]:
    """The first jobs, held by one worker."""
    from pipelines import engine  # noqa: PLC0415  # after `database`
    from pipelines.models import Job  # noqa: PLC0415  # after `database`

    begun = [world.start(version).pk for _ in range(tasks)]
    jobs = Job.objects.filter(task__in=begun).order_by("pk").values_list("pk", flat=True)
    return [engine.start_claimed_job_or_none(pk, world.claim()) for pk in jobs]


def measure(world: Any, version: Any, tasks: int, size: int, profile: cProfile.Profile | None) -> Json:
    from pipelines.engine import Report  # noqa: PLC0415  # after `database`
    from pipelines.work.transport.local.reports import deliver_reports  # noqa: PLC0415  # after `database`

    jobs = begin(world, version, tasks)
    fences = [(job.pk, job.attempt, job.lease_key) for job in jobs]
    claim, by = world.claim(), f"worker:{world.worker.pk}"
    backend = Backend()
    moves = batches = 0
    here, there, waits = time.process_time(), backend.cpu(), backend.waits()
    with profile or nullcontext():
        while fences:
            again = []
            for start in range(0, len(fences), size):
                part = fences[start : start + size]
                sent = [
                    Report(*each, {"result": "success"}, by=by, offer_for_next=claim, observed_by=by)
                    for each in part
                ]
                answers = deliver_reports(sent)
                assert all(each.status == "accepted" for each in answers), answers
                moves, batches = moves + len(part), batches + 1
                again += [
                    (each.following.orders.job_id, each.following.orders.attempt, each.following.lease)
                    for each in answers
                    if each.following is not None
                ]
            fences = again
    here, there = time.process_time() - here, backend.cpu() - there
    return {
        "reports in a batch": size,
        "moves": moves,
        "waits of the server a batch": round((backend.waits() - waits) / batches, 1),
        "ms of Python a move": round(1000 * here / moves, 3),
        "ms of PostgreSQL a move": round(1000 * there / moves, 3),
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=50)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 8, 50])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--profile", action="store_true")
    given, _ = parser.parse_known_args()
    with database():
        from django.db import connection  # noqa: PLC0415  # after `database`

        from tests.factories import make_world  # noqa: PLC0415  # after `database`

        world = make_world()
        version = world.line(stations=[f"s{number}" for number in range(STATIONS)])
        measure(world, version, 20, 8, None)  # plans are made, versions are read
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        rounds = [
            [measure(world, version, given.tasks, size, None) for size in given.sizes]
            for _ in range(given.rounds)
        ]
        found = [
            {name: min(each[at][name] for each in rounds) for name in rounds[0][at]}
            for at in range(len(given.sizes))
        ]
        if given.profile:
            profile = cProfile.Profile()
            measure(world, version, given.tasks, given.sizes[-1], profile)
            pstats.Stats(profile).sort_stats("tottime").print_stats(45)
    keep("cost", {"rounds": given.rounds, "load": os.getloadavg()[0], "a move": found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
