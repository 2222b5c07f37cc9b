"""Milliseconds of a claim where much else waits: a runner asks what it may have, and takes one job.

    python -m proof.bench.claims [--queued 100000] [--sets 50] [--rounds 100]

One project has so many queued jobs, an equal share behind each set of labels. In turn claim: a runner with one of the
sets, one with all of them, one with none (nothing waits for it), a runner of ALP, and a worker beside the database that
looks for jobs without a ticket. Prints what asking and taking take on the clock and of the
processor, and beside it the commit of one row: what the disk and others that run here take. The server is one of its
own, writing to disk, in a temporary folder."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from proof.bench.rig import Json, database, keep

MOST_MEDIAN = 5.0
"""Milliseconds of the processor, to ask and to take, whatever else the machine does."""
WARM = 10
ROOM = {"drive": 4, "quick": 4, "evaluate": 4}


def copy(table: str, key: str, columns: str, share: int) -> str:
    """Return the statement that writes `share` more rows of a table for each task there is."""
    return (
        f"INSERT INTO {table} SELECT copy.* FROM {table} row, generate_series(1, {share - 1}) n,"
        f" jsonb_populate_record(row, jsonb_build_object({columns})) copy WHERE row.{key} <= 1000000"
    )


def fill(queued: int, sets: int) -> tuple[Any, Any]:
    """Make the jobs. Return the world that they are in and the ids of the stations' versions."""
    from django.db import connection  # noqa: PLC0415  # after `database`

    from tests.factories import make_world, station  # noqa: PLC0415  # after `database`

    world = make_world()
    for number in range(sets):
        labels = [f"label-{number}", f"zone-{number % 7}"]
        runs = {"kind": "runner"} if number == 1 else {"kind": "command", "work": {"argv": ["true"]}}
        version = world.line(stations=[station("a", labels=labels, **runs)], key=f"line-{number}")
        world.start(version)
    share, step = queued // sets, 1000
    with connection.cursor() as cursor:
        spread = f"row.id + n * {step}"
        cursor.execute(
            copy("pipelines_task", "id", f"'id', {spread}, 'number', row.number + n * {step}", share)
        )
        cursor.execute(
            copy("pipelines_token", "id", f"'id', {spread}, 'task_id', row.task_id + n * {step}", share)
        )
        cursor.execute(
            copy(
                "pipelines_job",
                "id",
                f"'id', {spread}, 'task_id', row.task_id + n * {step}, 'token_id', row.token_id + n * {step},"
                " 'created_at', row.created_at + n * interval '1 millisecond'",
                share,
            )
        )
        cursor.execute("VACUUM ANALYZE pipelines_task, pipelines_token, pipelines_job")
        cursor.execute("SELECT count(*) FROM pipelines_job WHERE state = 'queued'")
        assert cursor.fetchone()[0] == queued
    return world, share


def claims(queued: int, sets: int, rounds: int) -> Json:
    from pipelines import engine  # noqa: PLC0415  # after `database`
    from pipelines.models import Worker  # noqa: PLC0415  # after `database`
    from pipelines.ports.leases import WorkOffer  # noqa: PLC0415  # after `database`
    from pipelines.work.transport.local.claimable import claimable_jobs, unattended_jobs  # noqa: PLC0415  # after `database`
    from tests.factories import make_worker  # noqa: PLC0415  # after `database`

    world, _share = fill(queued, sets)
    everything = [f"label-{number}" for number in range(sets)] + [f"zone-{number}" for number in range(7)]
    offers = frozenset({"kind:command"})

    def claim(
        labels: list[str], offered: frozenset[str] = offers, project: int | None = world.project.pk
    ) -> WorkOffer:
        return WorkOffer(make_worker().pk, frozenset(labels), offers=offered, project=project)

    one, full, none = claim(["label-0", "zone-0"]), claim(everything), claim(["other"])
    alp = claim(["label-1", "zone-1"], frozenset({"kind:runner"}))
    apart = claim(["label-2", "zone-2"], project=None)
    ways: dict[str, tuple[WorkOffer, Callable[[], dict[int, str]]]] = {
        "one set": (one, lambda: claimable_jobs(one, ROOM)),
        "all sets": (full, lambda: claimable_jobs(full, ROOM)),
        "nothing for it": (none, lambda: claimable_jobs(none, ROOM)),
        "ALP": (alp, lambda: claimable_jobs(alp, {"drive": 20})),
        "without a ticket": (apart, lambda: unattended_jobs(apart, ROOM, -1.0)),
    }
    clock = Clock()
    commits, spent = list[Times](), {name: list[tuple[Times, Times]]() for name in ways}
    for number in range(rounds + WARM):
        for name, (of, ask) in ways.items():
            began = clock.now()
            jobs = ask()
            asked = clock.now()
            assert bool(jobs) == (of is not none), name
            # As a runner does: the first that nobody else was first to take.
            assert not jobs or engine.start_claimed_job_or_none(next(iter(jobs)), of) is not None, name
            # What the server keeps is not kept from the first time on.
            if number >= WARM:
                spent[name].append((asked - began, clock.now() - asked))
        began = clock.now()
        Worker.objects.filter(pk=one.worker).update(name="bench")
        commits.append(clock.now() - began)
    answer = {}
    for name, pairs in spent.items():
        asked_all, taken_all = zip(*pairs, strict=True)
        answer[name] = {"asked": medians(asked_all), "taken": medians(taken_all)}
    return {
        "queued": queued,
        "sets of labels": sets,
        "rounds": rounds,
        "a commit of one row": medians(commits),
        "a claim": answer,
    }


class Times(NamedTuple):
    """Milliseconds on the clock, and of the processor: this process and that of its connection."""

    clock: float
    processor: float

    def __sub__(self, began: Times) -> Times:  # type: ignore[override]
        return Times(self.clock - began.clock, self.processor - began.processor)


class Clock:
    """The time of one connection: its server's process is read from the kernel."""

    def __init__(self) -> None:
        from django.db import connection  # noqa: PLC0415  # after `database`

        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            self._server = Path(f"/proc/{cursor.fetchone()[0]}/schedstat")

    def now(self) -> Times:
        server = int(self._server.read_text().split()[0]) / 1e6
        return Times(time.perf_counter() * 1e3, time.process_time() * 1e3 + server)


def medians(times: Sequence[Times]) -> dict[str, float]:
    return {
        "ms": round(statistics.median(row.clock for row in times), 2),
        "ms of the processor": round(statistics.median(row.processor for row in times), 2),
    }


def main() -> int:
    options = argparse.ArgumentParser(prog="proof.bench.claims", description=__doc__)
    options.add_argument("--queued", type=int, default=100_000)
    options.add_argument("--sets", type=int, default=50)
    options.add_argument("--rounds", type=int, default=100)
    arguments = options.parse_args()
    with database():
        answer = claims(arguments.queued, arguments.sets, arguments.rounds)
    keep("claims", answer)
    rows = answer["a claim"].values()
    return (
        max(row["asked"]["ms of the processor"] + row["taken"]["ms of the processor"] for row in rows)
        > MOST_MEDIAN
    )


if __name__ == "__main__":
    sys.exit(main())
