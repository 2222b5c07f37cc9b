"""A project with two lines and two months of work, for Insights: everything came by the real doors, and only its times
were moved back afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from random import Random
from typing import Any

from django.db import connection
from django.db.models import F
from django.utils import timezone

from pipelines.models import Agent, Delivery, GateVisit, Job, LineVersion, Repository, Task
from reviews.models import Sitting
from tests.factories import World, station

AGENTS = (("Claude Code", "sonnet-5", 0.9), ("Codex", "gpt-6", 0.4))


def costing(random: Random) -> dict[str, Any]:
    name, model, price = AGENTS[random.random() < 0.4]
    usage = {"tokens_in": random.randrange(1_000, 90_000), "tokens_out": 900}
    cost = {} if random.random() < 0.1 else {"cost_usd": round(price * random.uniform(0.5, 2), 4)}
    facts = {"agent": {"name": name}, "usage": {**usage, **cost}}
    return {"exit_code": 0, "usage": {"model": model}, "facts": facts}


def line(world: World, key: str, name: str) -> LineVersion:
    on = {"id": "on", "to": "ship", "gates": ["review"], "label": "Built"}
    again = {"id": "again", "when": {"result": "failure"}, "to": "failed"}
    build = station("build", again, on, name="Build the change", agent="coder")
    stations = [build, station("ship", name="Ship it")]
    return world.line(key=key, stations=stations, gates=[{"key": "review", "name": "Code review"}])


def seed(world: World, tasks: int = 36, days: int = 58) -> list[Task]:
    """Start and end `tasks` tasks, the last of them today, the first so many days ago."""
    random = Random(7)
    Agent.objects.create(
        project=world.project, key="coder", name="Coder", owner=world.admin,
        created_at=timezone.now() - timedelta(days=days + 30),
    )  # fmt: skip
    versions = [line(world, "release", "Release"), line(world, "fixes", "Fixes")]
    ended = []
    for number in range(tasks):
        task = world.start(versions[number % 3 == 2], title=f"Change {number}")
        _drive(world, task, random)
        with history_rewritten():
            _move_back(task, random, timedelta(days=days - days * number / max(tasks - 1, 1)))
        ended.append(Task.objects.get(pk=task.pk))
    _deliver(world, ended)
    return ended


def _drive(world: World, task: Task, random: Random) -> None:
    if random.random() < 0.12:
        world.report(task, {**costing(random), "result": "failure", "exit_code": 1})
        return
    world.report(task, costing(random))
    if random.random() < 0.3:
        _look(world, task, random)
        world.vote(task, "send_back", reason="Add a test.")
        world.report(task, costing(random))
    _look(world, task, random)
    world.vote(task, "approve")
    world.report(task)


def _look(world: World, task: Task, random: Random) -> None:
    seconds = random.uniform(2, 900)
    Sitting.objects.create(visit=world.visit(task), seconds=seconds, last_at=timezone.now())


@contextmanager
def history_rewritten() -> Iterator[None]:
    """Let rows of what has ended be changed, which triggers refuse."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        try:
            yield
        finally:
            cursor.execute("SET session_replication_role = origin")


def _move_back(task: Task, random: Random, ago: timedelta) -> None:
    """Move all times of a task back, and its beginnings by some hours more."""
    took = timedelta(hours=random.uniform(1, 30))
    Task.objects.filter(pk=task.pk).update(
        created_at=F("created_at") - ago - took, ended_at=F("ended_at") - ago
    )
    waited, worked = took * random.uniform(0.01, 0.1), took * random.uniform(0.05, 0.3)
    Job.objects.filter(task=task).update(
        created_at=F("created_at") - ago - waited - worked,
        started_at=F("ended_at") - ago - worked,
        ended_at=F("ended_at") - ago,
    )
    GateVisit.objects.filter(task=task).update(
        opened_at=F("opened_at") - ago - took * random.uniform(0.2, 0.6), decided_at=F("decided_at") - ago
    )


def _deliver(world: World, tasks: list[Task]) -> None:
    """Land the changes of four tasks on one branch; the third is taken back by the fourth, at once."""
    repository = Repository.objects.create(
        project=world.project, name="app", address="/no", connected_at=timezone.now()
    )
    landed = [task for task in tasks if task.status == "completed"][-4:]
    for number, (task, tree) in enumerate(zip(landed, ["one", "two", "three", "two"], strict=False)):
        visit = GateVisit.objects.filter(task=task, word="approve").get()
        at = task.ended_at or timezone.now()
        Delivery.objects.create(
            job=visit.job, task=task, repository=repository, repository_name="app", visit=visit, to="merge",
            branch="main", base=f"c{number}", tree=tree, commit=f"c{number + 1}", cleared_at=at, landed_at=at,
        )  # fmt: skip
