"""What becomes due without anybody calling: gates whose time passes, once, by whichever worker is first."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from pipelines import engine
from pipelines.models import Due, Event, GateVisit, Task
from pipelines.work.scheduler import timers
from reviews.models import AskedPlace
from tests.factories import World, station
from tests.waiting import LONG

pytestmark = pytest.mark.django_db


def gated(world: World, then: str, **more: Any) -> Task:
    """Waits at a gate that is due in an hour."""
    gate = {"key": "review", "due": {"after": "1h", "then": then}, **more}
    version = world.line(
        stations=[station("build", {"id": "on", "to": "ship", "gates": ["review"]}), "ship"], gates=[gate]
    )
    task = world.start(version)
    world.report(task)
    return task


def pass_time(task: Task, kind: str = "gate") -> None:
    """Let what is due be due since a minute."""
    past = timezone.now() - timedelta(minutes=1)
    assert Due.objects.filter(task=task, kind=kind).update(due_at=past)
    GateVisit.objects.filter(task=task, due_at__isnull=False).update(due_at=past)
    AskedPlace.objects.filter(visit__task=task, visit__due_at__isnull=False).update(order_at=past)


def test_what_is_not_due_is_left_alone(world: World) -> None:
    task = gated(world, "remind")
    assert timers.run_due_timers_and_triggers() == {}
    [due] = Due.objects.all()
    assert engine.fire_due_time_and_return_result(due.pk) == "gone"
    assert world.status(task) == "awaiting_review"
    assert timers.run_due_timers_and_triggers(now=timezone.now() + timedelta(hours=2), limit=1) == {
        "fired": 1
    }


def test_a_gate_that_rejects_says_so_itself_when_its_time_has_passed(world: World) -> None:
    task = gated(world, "reject", on_reject="rework")
    pass_time(task)
    assert timers.run_due_timers_and_triggers() == {"fired": 1}
    visit = GateVisit.objects.get(task=task)
    assert (visit.word, visit.decided_by) == ("reject", None)
    assert visit.reason.startswith("Nobody decided by")
    [decided] = Event.objects.filter(task=task, kind="gate.decided")
    assert decided.data["by"] == "due time"
    job = world.job(task)
    assert (job.station, job.feedback) == ("build", visit.reason)
    assert timers.run_due_timers_and_triggers() == {}


def test_a_rejection_by_time_that_nobody_routes_fails(world: World) -> None:
    task = gated(world, "reject", on_reject="reviewer_chooses")
    pass_time(task)
    timers.run_due_timers_and_triggers()
    assert world.status(task) == "failed"


def test_a_gate_that_reminds_asks_on(world: World) -> None:
    task = gated(world, "remind")
    pass_time(task)
    assert timers.run_due_timers_and_triggers() == {"fired": 1}
    assert world.kinds(task)[-1] == "gate.overdue"
    assert world.status(task) == "awaiting_review"
    assert timers.run_due_timers_and_triggers() == {}
    world.vote(task)
    assert world.at(task) == ["ship"]


@pytest.mark.parametrize("word", ["approve", "send_back", "cancel"])
def test_a_due_time_goes_with_what_waits_for_it(world: World, word: str) -> None:
    task = gated(world, "reject")
    if word == "cancel":
        engine.cancel(task.pk, actor=engine.ENGINE)
    else:
        world.vote(task, word, reason="so")
    assert not Due.objects.exists()


def test_a_fault_keeps_no_other_from_its_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = gated(world, "remind"), gated(world, "remind")
    pass_time(first)
    pass_time(second)
    Due.objects.filter(task=first).update(kind="unheard_of")
    assert timers.run_due_timers_and_triggers() == {"failed": 1, "fired": 1}
    assert world.kinds(second)[-1] == "gate.overdue"
    assert timers.run_due_timers_and_triggers() == {}
    Due.objects.filter(task=first).update(kind="gate")


@pytest.mark.django_db(transaction=True)
def test_several_workers_at_once_fire_one_time_once(world: World) -> None:
    task = gated(world, "reject", on_reject="rework")
    pass_time(task)
    found: list[Any] = []
    together = threading.Barrier(2)

    def loop() -> None:
        together.wait(LONG)
        try:
            found.append(timers.run_due_timers_and_triggers())
        finally:
            connection.close()

    threads = [threading.Thread(target=loop) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(LONG)
    assert sum(each["fired"] for each in found) == 1
    assert world.kinds(task).count("gate.decided") == 1
