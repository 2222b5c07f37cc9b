"""Many tasks are moved by one command while workers claim and report, people vote and times come: each task is moved
or its refusal is noted, and nothing is lost or doubled (law §17)."""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from pipelines import engine
from pipelines.engine.invariants import find_violations
from pipelines.errors import Refused
from pipelines.lines import bulk_commands
from pipelines.lines.bulk_commands import BulkRequest, BulkSelection
from pipelines.models import BulkCommand, Due, Event, GateVisit, Job, LineVersion, Task
from pipelines.work.scheduler import timers
from tests.factories import World, document, make_world, station
from tests.waiting import LONG

pytestmark = pytest.mark.django_db(transaction=True)

FEW = 60
MANY = int(os.environ.get("GATELINE_SOAK_BULK", "1000"))
SIGN = {"key": "sign", "name": "Sign", "mode": "manual", "due": {"after": "1h", "then": "reject"}}


def moving_line(world: World) -> LineVersion:
    """build → (sign) → rest (until a time) → test → ship; where they are moved to is `lane`."""
    stations = [
        station("build", {"id": "signed", "to": "rest", "gates": ["sign"]}),
        station("rest", {"id": "rested", "to": "test"}, kind="wait", work={"for": "1h"}),
        station("test", {"id": "tested", "to": "ship"}),
        "lane",
        "ship",
    ]
    return world.line(document(stations, "busy", gates=[SIGN]))


def spread(world: World, version: LineVersion, count: int) -> list[Task]:
    """A quarter queued, a quarter with running work, a quarter under review, a quarter waiting for a time."""
    tasks = [world.start(version) for _ in range(count)]
    for number, task in enumerate(tasks):
        if number % 4 == 1:
            world.started(task)
        if number % 4 >= 2:
            world.report(task)
        if number % 4 == 3:
            world.vote(task, "approve", by=world.reviewer)
    return tasks


class Beside:
    """What goes on beside the command until it ends: each on a thread and a connection of its own."""

    def __init__(
        self, world: World, tasks: list[Task], acts: list[Callable[[World, Task, random.Random], None]]
    ) -> None:
        self.ended, self.done, self.failures = threading.Event(), Counter[str](), []
        self.pause = 5 / len(tasks)
        self._threads = [
            threading.Thread(target=self._run, args=(world, tasks, act, seed))
            for seed, act in enumerate(acts)
        ]

    def __enter__(self) -> Beside:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        for thread in self._threads:
            thread.join(LONG)

    def _run(
        self, world: World, tasks: list[Task], act: Callable[[World, Task, random.Random], None], seed: int
    ) -> None:
        chance = random.Random(seed)
        try:
            while not self.ended.is_set():
                try:
                    act(world, chance.choice(tasks), chance)
                    self.done[act.__name__] += 1
                except Refused:
                    self.done[f"{act.__name__} refused"] += 1
                # So that each kind of act, and the command, have their share of the tasks
                self.ended.wait(self.pause)
        except BaseException as failure:  # noqa: BLE001  # told by the test
            self.failures.append(failure)
        finally:
            connection.close()


def claim_and_report(world: World, task: Task, _chance: random.Random) -> None:
    job = Job.objects.filter(task=task, state__in=("queued", "running")).exclude(kind="wait").first()
    if job is None:
        return
    started = engine.start_claimed_job_or_none(job.pk, world.claim()) if job.state == "queued" else None
    if started is not None:
        report = world.report_of(started)
        assert engine.report([report])[0].status in ("accepted", "conflict", "ignored")


def vote(world: World, task: Task, _chance: random.Random) -> None:
    visit = GateVisit.objects.filter(task=task, state="open").first()
    if visit is not None:
        world.vote(task, "approve", by=world.reviewer, visit=visit)


def let_a_time_come(_world: World, task: Task, _chance: random.Random) -> None:
    due = Due.objects.filter(task=task, kind__in=("wait", "gate"), paused_at=None).first()
    if due is not None:
        past = timezone.now() - timedelta(seconds=1)
        Due.objects.filter(pk=due.pk).update(due_at=past)
        GateVisit.objects.filter(task=task, due_at__isnull=False).update(due_at=past)
        engine.fire_due_time_and_return_result(due.pk)


def lose_a_worker(world: World, task: Task, _chance: random.Random) -> None:
    job = Job.objects.filter(task=task, state="running", lease__isnull=False).select_related("lease").first()
    if job is not None:
        world.expire(task)
        timers.expire_due_leases()


def pause_and_resume(world: World, task: Task, _chance: random.Random) -> None:
    scope = engine.PauseScope(world.project, task=task)
    engine.pause(scope, user=world.admin)
    engine.resume(scope, user=world.admin)
    timers.run_due_timers_and_triggers()


ACTS = [claim_and_report, claim_and_report, vote, let_a_time_come, lose_a_worker, pause_and_resume]


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.soak)])
def test_a_move_of_many_beside_running_work_loses_and_doubles_nothing(count: int) -> None:
    world = make_world()
    version = moving_line(world)
    world.operator, world.admin, world.reviewer  # noqa: B018  # made once, before threads ask for them
    tasks = spread(world, version, count)
    selection = BulkSelection(tuple((task, world.token(task).pk) for task in tasks))
    command = bulk_commands.create_bulk_command(
        world.operator, world.operator, BulkRequest("move", "lane", "Freeze."), selection
    )
    # Every third goes on by itself meanwhile; most of the others wait for somebody
    with Beside(world, tasks[::3], ACTS) as beside:
        work_until(command, "planning")
        bulk_commands.start_bulk_command(command, world.operator)
        # Two workers have its tickets
        workers = [threading.Thread(target=work_in_thread, args=(command,)) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(LONG * 10)
    assert beside.failures == []
    timers.run_due_timers_and_triggers()
    command.refresh_from_db()
    results = Counter(command.entries.values_list("result", flat=True))
    print(f"{count} tasks: {dict(results)}; beside: {dict(beside.done)}")
    assert command.state == "finished"
    assert results["done"] + results["refused"] == count
    assert results["done"] >= count // 2
    assert command.entries.filter(result="refused", detail="").count() == 0
    # One event of the hand for each that was moved, and none for a refused one
    by_hand = Event.objects.filter(task__in=tasks, kind="token.moved", target="lane")
    moved = Counter(by_hand.values_list("task", flat=True))
    assert set(moved) == set(command.entries.filter(result="done").values_list("task", flat=True))
    assert set(moved.values()) == {1}
    assert find_violations([task.pk for task in tasks]) == []


def work_until(command: BulkCommand, state: str) -> None:
    while BulkCommand.objects.filter(pk=command.pk, state=state).exists():
        bulk_commands.work_on_bulk_command(command.pk)


def work_in_thread(command: BulkCommand) -> None:
    try:
        work_until(command, "running")
    finally:
        connection.close()
