"""Milliseconds of a claim where much else waits: a runner asks what it may have, and takes one job.

    python -m bench.claims [--queued 100000] [--sets 50] [--rounds 100]

One project has so many queued jobs, an equal share behind each set of labels. In turn claim: a runner with one of the
sets, one with all of them, one with none (nothing waits for it), a runner of ALP, and a worker beside the database that
looks for jobs without a ticket. Prints what asking and taking take, and beside it the commit of one row: what of a take
is the disk's. The server is one of its own, writing to disk, in a temporary folder."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from bench.rig import Json, database, keep

MOST_MEDIAN = 5.0
"""Milliseconds of a claim, without those that the disk takes for one commit."""
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
    from pipelines.ports.leases import Claim  # noqa: PLC0415  # after `database`
    from pipelines.work.transport.local.claimable import claimable, unattended  # noqa: PLC0415  # after `database`
    from tests.factories import make_worker  # noqa: PLC0415  # after `database`

    world, _share = fill(queued, sets)
    everything = [f"label-{number}" for number in range(sets)] + [f"zone-{number}" for number in range(7)]
    offers = frozenset({"kind:command"})

    def claim(
        labels: list[str], offered: frozenset[str] = offers, project: int | None = world.project.pk
    ) -> Claim:
        return Claim(make_worker().pk, frozenset(labels), offers=offered, project=project)

    one, full, none = claim(["label-0", "zone-0"]), claim(everything), claim(["other"])
    alp = claim(["label-1", "zone-1"], frozenset({"kind:runner"}))
    apart = claim(["label-2", "zone-2"], project=None)
    ways: dict[str, tuple[Claim, Callable[[], dict[int, str]]]] = {
        "one set": (one, lambda: claimable(one, ROOM)),
        "all sets": (full, lambda: claimable(full, ROOM)),
        "nothing for it": (none, lambda: claimable(none, ROOM)),
        "ALP": (alp, lambda: claimable(alp, {"drive": 20})),
        "without a ticket": (apart, lambda: unattended(apart, ROOM, -1.0)),
    }
    commits, spent = list[float](), {name: list[tuple[float, float]]() for name in ways}
    for number in range(rounds + WARM):
        for name, (of, ask) in ways.items():
            began = time.perf_counter()
            jobs = ask()
            asked_at = time.perf_counter()
            assert bool(jobs) == (of is not none), name
            # As a runner does: the first that nobody else was first to take.
            assert not jobs or engine.start(next(iter(jobs)), of) is not None, name
            # What the server keeps is not kept from the first time on.
            if number >= WARM:
                spent[name].append((1000 * (asked_at - began), 1000 * (time.perf_counter() - asked_at)))
        began = time.perf_counter()
        Worker.objects.filter(pk=one.worker).update(name="bench")
        commits.append(1000 * (time.perf_counter() - began))
    commit = statistics.median(commits)
    answer = {
        name: {"asked": statistics.median(asked), "taken": statistics.median(taken)}
        for name, pairs in spent.items()
        for asked, taken in [zip(*pairs, strict=True)]
    }
    for row in answer.values():
        row["without the disk"] = row["asked"] + max(0.0, row["taken"] - commit)
    return {
        "queued": queued,
        "sets of labels": sets,
        "rounds": rounds,
        "ms a commit of one row": round(commit, 2),
        "ms a claim (medians)": {
            name: {key: round(number, 2) for key, number in row.items()} for name, row in answer.items()
        },
    }


def main() -> int:
    options = argparse.ArgumentParser(prog="bench.claims", description=__doc__)
    options.add_argument("--queued", type=int, default=100_000)
    options.add_argument("--sets", type=int, default=50)
    options.add_argument("--rounds", type=int, default=100)
    arguments = options.parse_args()
    with database():
        answer = claims(arguments.queued, arguments.sets, arguments.rounds)
    keep("claims", answer)
    return max(row["without the disk"] for row in answer["ms a claim (medians)"].values()) > MOST_MEDIAN


if __name__ == "__main__":
    sys.exit(main())
