"""What a move costs: in a line of twelve stations with a fork, a loop and a gate beside one of twelve `noop` stations,
and with a million finished moves in the database beside an empty one.

    python -m proof.bench.law [--tasks 500] [--finished 1000000] [--open 10000]

The engine is called in this process, one report at a time, as a driver would; a move is an event that moves, forks,
joins or ends a token. Both lines are driven in turns, so that they share what else the machine does: seconds of the
processor, here and in PostgreSQL, of the engine's calls alone, the median of the turns. Beside the finished moves lie
as many open jobs as `--open` says, half of them leased. The server is one of its own, writing to disk, in a temporary
folder."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Collection
from typing import Any, TypeVar

from proof.bench.cost import Backend
from proof.bench.rig import database, exponent, keep

T = TypeVar("T")

MOVES = ("token.moved", "token.forked", "token.joined", "token.ended")
TURN = 25
"""Tasks of one line before the other has its turn."""
FAR = 1_000_000
PLAIN = tuple(f"s{number}" for number in range(12))


def station(key: str, to: Any, **more: Any) -> dict[str, Any]:
    rule = {"id": f"{key}-on", "when": {"result": "success"}, "to": to, **more.pop("rule", {})}
    return {"key": key, "work": {"kind": "noop"}, "rules": [*more.pop("before", ()), rule], **more}


def whole() -> dict[str, Any]:
    """plan → design → build ⇄ test → (qa ∥ security ∥ docs) → package → gate → stage → verify → deliver → close."""
    again = {
        "id": "test-again",
        "when": {"not": {"edge": {"from": "test", "to": "build", "at_least": 1}}},
        "to": "build",
        "max_retries": 1,
    }
    branches = ["qa", "security", "docs"]
    return {
        "gateline": 1,
        "key": "whole",
        "name": "Whole",
        "stations": [
            station("plan", "design"),
            station("design", "build"),
            station("build", "test"),
            station("test", branches, before=[again]),
            *(station(key, "package") for key in branches),
            station("package", "stage", rule={"gates": ["release"]}, join={"wait_for": branches}),
            station("stage", "verify"),
            station("verify", "deliver"),
            station("deliver", "close"),
            station("close", "completed"),
        ],
        "gates": [{"key": "release", "name": "Release"}],
    }


class Driven:
    """A line, and what its moves took."""

    def __init__(self, world: Any, version: Any) -> None:
        self.world, self.version = world, version
        self.backend = Backend()
        self.turns: list[tuple[float, float, float]] = []

    def drive(self, tasks: int) -> None:
        """Submit them all, then count what it takes until all have ended."""
        from pipelines.models import ENDED, Event, GateVisit, Job, Token  # noqa: PLC0415  # after `database`

        asks = GateVisit.objects.select_related("task")
        begun = [self.world.start(self.version) for _ in range(tasks)]
        self.wall = self.here = self.there = 0.0
        for task in begun:
            while True:
                job = Job.objects.filter(task=task).exclude(state=Job.State.DONE).order_by("pk").first()
                if job is not None:
                    self._counted(self._done, job)
                elif asked := asks.filter(task=task, state=GateVisit.State.OPEN).first():
                    self._counted(lambda visit: self.world.vote(visit.task, visit=visit), asked)
                else:
                    break
            left = Token.objects.filter(task=task).exclude(status__in=ENDED)
            assert not left.exists(), f"{task} does not go on: {left[0].status} {left[0].wait}"
        moves = Event.objects.filter(task__in=begun, kind__in=MOVES).count()
        self.turns.append((self.wall / moves, self.here / moves, self.there / moves))

    def _done(self, job: Any) -> None:
        """Where the worker goes straight on it has the next job from the answer to its report."""
        from pipelines import engine  # noqa: PLC0415  # after `database`

        claim, by = self.world.claim(), f"worker:{self.world.worker.pk}"
        job = engine.start_claimed_job_or_none(job.pk, claim)
        while job is not None:
            said = (job.pk, job.attempt, job.lease_key, {"result": "success"})
            (answer,) = engine.report([engine.Report(*said, by=by, offer_for_next=claim, observed_by=by)])
            assert answer.status == "accepted", answer
            job = answer.following if answer.next_lease else None

    def _counted(self, work: Callable[[Any], T], given: Any) -> T:
        there, here, wall = self.backend.cpu(), time.process_time(), time.perf_counter()
        found = work(given)
        self.wall += time.perf_counter() - wall
        self.here += time.process_time() - here
        self.there += self.backend.cpu() - there
        return found

    def told(self) -> dict[str, Any]:
        wall, here, there = (1000 * statistics.median(column) for column in zip(*self.turns, strict=True))
        return {
            "ms a move": round(wall, 2),
            "ms of Python": round(here, 3),
            "ms of PostgreSQL": round(there, 3),
        }


def measure(world: Any, tasks: int) -> dict[str, Any]:
    lines = {
        "twelve noop stations": Driven(world, world.line(stations=list(PLAIN), key="plain")),
        "fork, loop and gate": Driven(world, world.line(whole())),
    }
    for one in lines.values():
        one.drive(TURN)  # the versions are parsed, the plans are made
        one.turns = []
    for _ in range(-(-tasks // TURN)):
        for one in lines.values():
            one.drive(min(TURN, tasks))
    found: dict[str, Any] = {name: one.told() for name, one in lines.items()}
    plain, full = found.values()
    return {**found, "times noop": times(full, plain)}


def times(one: dict[str, Any], other: dict[str, Any]) -> dict[str, float]:
    return {name.removeprefix("ms of "): round(one[name] / other[name], 2) for name in one}


def wait(world: Any, count: int) -> None:
    """So many open jobs: half of them wait in the queue, half are leased."""
    version = world.line(stations=list(PLAIN), key="plain")
    queued, held = world.start(version), world.start(version)
    world.started(held)
    multiply(count // 2, [queued.pk, held.pk])


def multiply(copies: int, tasks: Collection[int]) -> None:
    """As many copies of these with all that is theirs: positions, jobs, leases, decisions, events, gate visits. Numbers
    are moved by a multiple of `FAR`, identities are those of the copied ones hashed."""
    from django.db import connection, models  # noqa: PLC0415  # after `database`

    from pipelines.models import (  # noqa: PLC0415  # after `database`
        Decision,
        Event,
        GateVisit,
        Job,
        Lease,
        Task,
        Token,
    )

    copied = (Task, Token, Job, Lease, Decision, Event, GateVisit)

    def value(model: type[models.Model], field: Any) -> str:
        column = f't."{field.column}"'
        related = field.related_model if field.is_relation else model if field.primary_key else None
        moved = related in copied or field.column in ("number", "token_id", "job_id")
        if not moved or (field.column == "number" and model is not Task):
            return column
        target = field.target_field if field.is_relation else field
        if isinstance(target, models.UUIDField):
            return f"md5({column}::text || k)::uuid"
        return f"{column} + k * {FAR}::bigint"

    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")  # neither triggers nor foreign keys
        for model in copied:
            fields = model._meta.concrete_fields
            columns = ", ".join(f'"{field.column}"' for field in fields)
            values = ", ".join(value(model, field) for field in fields)
            of = {
                Task: "t.id",
                Lease: "(SELECT task_id FROM pipelines_job WHERE id = t.job_id)",
            }.get(model, "t.task_id")
            cursor.execute(
                f"INSERT INTO {model._meta.db_table} ({columns}) SELECT {values}"
                f" FROM {model._meta.db_table} t, generate_series(1, %s) k WHERE {of} = ANY(%s)",
                [copies, list(tasks)],
            )
        cursor.execute("SET session_replication_role = origin")
        cursor.execute("VACUUM ANALYZE")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=500)
    parser.add_argument("--finished", type=int, default=1_000_000)
    parser.add_argument("--open", type=int, default=10_000)
    given, _ = parser.parse_known_args()
    with database():
        from pipelines.models import Event, Job, Task  # noqa: PLC0415  # after `database`
        from tests.factories import make_world  # noqa: PLC0415  # after `database`

        world = make_world()
        empty = measure(world, given.tasks)
        own = Event.objects.filter(kind__in=MOVES).count()
        multiply(-(-given.finished // own), Task.objects.values_list("pk", flat=True))
        wait(world, given.open)
        finished = Event.objects.filter(kind__in=MOVES).count()
        waiting = Job.objects.exclude(state=Job.State.DONE).count()
        full = measure(world, given.tasks)
    answer = {
        "load": os.getloadavg()[0],
        "an empty database": empty,
        "finished moves": finished,
        "open jobs": waiting,
        "a full database": full,
        "exponent of PostgreSQL, moves": {
            name: exponent(
                [(own, empty[name]["ms of PostgreSQL"]), (finished, full[name]["ms of PostgreSQL"])]
            )
            for name in empty
            if name != "times noop"
        },
        "times empty": {name: times(full[name], empty[name]) for name in empty if name != "times noop"},
    }
    keep("law", answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
