"""What a move costs: in a line of twelve stations with a fork, a loop and a gate beside one of twelve `noop` stations,
and with a million finished moves in the database beside an empty one.

    python -m bench.law [--tasks 500] [--finished 1000000]

The engine is called in this process, one report at a time, as a driver would; a move is an event that moves, forks,
joins or ends a token. Both lines are driven in turns, so that they share what else the machine does. The server is one
of its own, writing to disk, in a temporary folder."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from bench.rig import database, keep

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
        self.seconds = 0.0
        self.tasks: list[int] = []

    def drive(self, tasks: int) -> None:
        """Submit them all, then time until all have ended."""
        from pipelines.models import ENDED, GateVisit, Job, Token  # noqa: PLC0415  # after `database`

        begun = [self.world.start(self.version) for _ in range(tasks)]
        self.tasks += [task.pk for task in begun]
        began = time.perf_counter()
        for task in begun:
            while True:
                job = Job.objects.filter(task=task).exclude(state=Job.State.DONE).order_by("pk").first()
                if job is not None:
                    self.world.report(task, station=job.station)
                elif GateVisit.objects.filter(task=task, state=GateVisit.State.OPEN).exists():
                    self.world.vote(task)
                else:
                    break
            left = Token.objects.filter(task=task).exclude(status__in=ENDED)
            assert not left.exists(), f"{task} does not go on: {left[0].status} {left[0].wait}"
        self.seconds += time.perf_counter() - began

    def told(self) -> dict[str, Any]:
        from pipelines.models import Event  # noqa: PLC0415  # after `database`

        moves = Event.objects.filter(task__in=self.tasks, kind__in=MOVES).count()
        return {
            "tasks": len(self.tasks),
            "moves": moves,
            "ms a move": round(1000 * self.seconds / moves, 2),
        }


def measure(world: Any, tasks: int) -> dict[str, Any]:
    lines = {
        "twelve noop stations": Driven(world, world.line(stations=list(PLAIN), key="plain")),
        "fork, loop and gate": Driven(world, world.line(whole())),
    }
    for one in lines.values():
        one.drive(2)  # the versions are parsed, the plans are made
        one.seconds, one.tasks = 0.0, []
    for _ in range(-(-tasks // TURN)):
        for one in lines.values():
            one.drive(min(TURN, tasks))
    found: dict[str, Any] = {name: one.told() for name, one in lines.items()}
    plain, full = (each["ms a move"] for each in found.values())
    return {**found, "times noop": round(full / plain, 2)}


def multiply(times: int) -> None:
    """As many copies of everything that has been done: tasks, positions, jobs, decisions, events, gate visits. Numbers
    are moved by a multiple of `FAR`, identities are those of the copied ones hashed."""
    from django.db import connection, models  # noqa: PLC0415  # after `database`

    from pipelines.models import (  # noqa: PLC0415  # after `database`
        Decision,
        Event,
        GateVisit,
        Job,
        Task,
        Token,
    )

    copied = (Task, Token, Job, Decision, Event, GateVisit)

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
        for model in copied:
            fields = model._meta.concrete_fields
            columns = ", ".join(f'"{field.column}"' for field in fields)
            values = ", ".join(value(model, field) for field in fields)
            cursor.execute(
                f"INSERT INTO {model._meta.db_table} ({columns}) SELECT {values}"
                f" FROM {model._meta.db_table} t, generate_series(1, %s) k",
                [times],
            )
        cursor.execute("ANALYZE")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=500)
    parser.add_argument("--finished", type=int, default=1_000_000)
    given, _ = parser.parse_known_args()
    with database():
        from pipelines.models import Event  # noqa: PLC0415  # after `database`
        from tests.factories import make_world  # noqa: PLC0415  # after `database`

        world = make_world()
        empty = measure(world, given.tasks)
        own = Event.objects.filter(kind__in=MOVES).count()
        multiply(-(-given.finished // own))
        finished = Event.objects.filter(kind__in=MOVES).count()
        full = measure(world, given.tasks)
    answer = {
        "an empty database": empty,
        "finished moves": finished,
        "a full database": full,
        "times empty": {
            name: round(full[name]["ms a move"] / empty[name]["ms a move"], 2)
            for name in empty
            if name != "times noop"
        },
    }
    keep("law", answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
