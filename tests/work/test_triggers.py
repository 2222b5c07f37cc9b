"""Schedules start tasks: each slot once, whoever looks, and what does not start says why."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from pipelines import engine
from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.lines import line_operations as line_settings
from pipelines.lines import triggers
from pipelines.lines.triggers import TriggerRequest
from pipelines.models import AdministrativeAct, LineVersion, Membership, Task, Trigger, TriggerDelivery, User
from pipelines.work.scheduler import timers
from pipelines.work.triggers import starting
from tests.factories import World, make_member, station
from tests.waiting import LONG

pytestmark = [pytest.mark.django_db, pytest.mark.moves]
NIGHTLY = {"cron": "0 2 * * *", "zone": "Europe/Berlin", "missed": "once"}
REQUEST = [{"key": "request", "label": "Request", "type": "long_text", "required": True}]
NIGHT = datetime(2026, 11, 20, 1, 0, tzinfo=UTC)
"""02:00 in Berlin."""


def version_of(world: World, **more: Any) -> LineVersion:
    return world.line(stations=[station("work", kind="manual")], inputs=REQUEST, **more)


def schedule(
    world: World, version: LineVersion | None = None, by: User | None = None, **more: Any
) -> Trigger:
    """Due at NIGHT."""
    options = NIGHTLY | more.pop("options", {})
    request = TriggerRequest(options, inputs={"request": "Tidy up"}, **more)
    trigger = triggers.add_trigger(
        (version or version_of(world)).line, "schedule", request, by=by or world.operator
    )
    due(trigger, NIGHT)
    return trigger


def due(trigger: Trigger, at: datetime) -> None:
    Trigger.objects.filter(pk=trigger.pk).update(next_at=at)


def outcomes(trigger: Trigger) -> list[tuple[str, str]]:
    return list(trigger.deliveries.order_by("pk").values_list("outcome", "detail"))


def next_of(trigger: Trigger) -> datetime | None:
    return Trigger.objects.get(pk=trigger.pk).next_at


def test_a_slot_starts_a_task_of_whoever_changed_the_schedule_last(world: World) -> None:
    trigger = schedule(world, title="Upkeep of {date}")
    assert timers.run_due_timers_and_triggers(now=NIGHT - timedelta(seconds=1)) == {}
    assert timers.run_due_timers_and_triggers(now=NIGHT) == {"started": 1}
    task = Task.objects.get()
    assert (task.title, task.inputs) == ("Upkeep of 2026-11-20", {"request": "Tidy up"})
    assert task.requester == world.operator and task.requesters == []
    [delivery] = trigger.deliveries.all()
    assert (delivery.outcome, delivery.task, delivery.detail) == ("started", task, "")
    assert next_of(trigger) == NIGHT + timedelta(days=1)
    assert timers.run_due_timers_and_triggers(now=NIGHT) == {}


def test_the_outlook_of_a_worker_knows_the_next_run(world: World) -> None:
    assert timers.read_outlook().due is None
    trigger = schedule(world)
    due(trigger, timezone.now() + timedelta(seconds=0.5))
    assert 0 < timers.read_outlook().seconds_to_sleep <= 0.5
    due(trigger, timezone.now() - timedelta(seconds=1))
    assert timers.read_outlook().has_due_timer


def test_a_saved_schedule_waits_for_its_next_slot_by_the_clock_of_the_database(world: World) -> None:
    request = TriggerRequest(NIGHTLY, inputs={"request": "Tidy up"})
    trigger = triggers.add_trigger(version_of(world).line, "schedule", request, by=world.operator)
    assert trigger.next_at is not None
    assert timedelta() < trigger.next_at - timezone.now() <= timedelta(hours=25)


def test_who_changed_it_and_who_wrote_it_are_barred_as_requesters(world: World) -> None:
    version = world.line(
        stations=[station("work", {"id": "on", "to": "completed", "gates": ["review"]})],
        gates=[{"key": "review"}],
        inputs=REQUEST,
    )
    writer, changer = make_member(world.project, "reviewer"), make_member(world.project, "reviewer")
    trigger = schedule(world, version, by=writer)
    request = TriggerRequest(NIGHTLY | {"cron": "0 3 * * *"}, inputs={"request": "Tidy up"})
    triggers.change_trigger(trigger, request, by=changer)
    due(trigger, NIGHT)
    timers.run_due_timers_and_triggers(now=NIGHT)
    task = Task.objects.get()
    assert task.requester == changer and task.requesters == [f"person:{writer.pk}"]
    world.report(task)
    for barred in (writer, changer):
        with pytest.raises(Forbidden):
            world.vote(task, by=barred)
    world.vote(task, by=world.reviewer)
    assert world.status(task) == "completed"


def test_who_writes_the_inputs_anew_takes_them_over(world: World) -> None:
    trigger = schedule(world)
    triggers.change_trigger(trigger, TriggerRequest(NIGHTLY, inputs={"request": "Other"}), by=world.designer)
    due(trigger, NIGHT)
    timers.run_due_timers_and_triggers(now=NIGHT)
    assert (Task.objects.get().requester, Task.objects.get().requesters) == (world.designer, [])


def test_a_requester_who_lost_the_right_starts_nothing_until_somebody_saves_it(world: World) -> None:
    trigger = schedule(world)
    Membership.objects.filter(user=world.operator).update(roles=["viewer"])
    assert timers.run_due_timers_and_triggers(now=NIGHT) == {"failed": 1}
    [(_, detail)] = outcomes(trigger)
    assert detail.startswith(f"{world.operator} may no longer start tasks here") and "save it" in detail
    assert next_of(trigger) == NIGHT + timedelta(days=1)
    triggers.change_trigger(
        trigger, TriggerRequest(NIGHTLY, inputs={"request": "Tidy up"}), by=world.designer
    )
    due(trigger, NIGHT + timedelta(days=1))
    assert timers.run_due_timers_and_triggers(now=NIGHT + timedelta(days=1)) == {"started": 1}


def test_a_person_who_was_deactivated_starts_nothing(world: World) -> None:
    trigger = schedule(world)
    User.objects.filter(pk=world.operator.pk).update(is_active=False)
    assert timers.run_due_timers_and_triggers(now=NIGHT) == {"failed": 1}
    assert not Task.objects.exists()
    assert outcomes(trigger)[0][0] == "failed"


def test_a_running_task_keeps_the_next_from_starting(world: World) -> None:
    trigger = schedule(world)
    timers.run_due_timers_and_triggers(now=NIGHT)
    task = Task.objects.get()
    assert timers.run_due_timers_and_triggers(now=NIGHT + timedelta(days=1)) == {"ignored": 1}
    assert outcomes(trigger)[1] == ("ignored", f"{task.name} has not ended yet.")
    engine.cancel(task.pk, actor=engine.Actor.person(world.operator), reason="Enough")
    assert timers.run_due_timers_and_triggers(now=NIGHT + timedelta(days=2)) == {"started": 1}


def test_tasks_may_run_side_by_side_and_those_of_others_are_no_hindrance(world: World) -> None:
    trigger = schedule(world, one_at_a_time=False)
    for day in range(2):
        assert timers.run_due_timers_and_triggers(now=NIGHT + timedelta(days=day)) == {"started": 1}
    other = schedule(world, Trigger.objects.get().line.live)
    assert timers.run_due_timers_and_triggers(now=NIGHT) == {"started": 1}
    assert [outcome for outcome, _ in outcomes(trigger) + outcomes(other)] == ["started"] * 3


@pytest.mark.parametrize(
    ("missed", "late", "outcome", "detail", "slot"),
    [
        ("once", timedelta(minutes=9), "started", "", 0),
        ("skip", timedelta(minutes=9), "started", "", 0),
        ("once", timedelta(hours=3), "started", "Missed, and caught up once.", 0),
        ("skip", timedelta(hours=3), "ignored", "Missed. This schedule skips runs that are missed.", 0),
        ("once", timedelta(days=9, hours=3), "started", "Missed, and caught up once.", 9),
        (
            "skip",
            timedelta(days=9, hours=3),
            "ignored",
            "Missed. This schedule skips runs that are missed.",
            9,
        ),
        ("once", timedelta(days=9, minutes=1), "started", "Earlier runs were missed.", 9),
        ("skip", timedelta(days=9, minutes=1), "started", "Earlier runs were missed.", 9),
    ],
)
def test_after_a_time_without_a_server(
    world: World, missed: str, late: timedelta, outcome: str, detail: str, slot: int
) -> None:
    """One delivery, however many runs were missed; then the next run."""
    trigger = schedule(world, options={"missed": missed})
    now = NIGHT + late
    assert timers.run_due_timers_and_triggers(now=now) == {outcome: 1}
    assert timers.run_due_timers_and_triggers(now=now) == {}
    assert outcomes(trigger) == [(outcome, detail)]
    assert trigger.deliveries.get().key == f"{NIGHT + timedelta(days=slot):%Y-%m-%dT%H:%MZ}"
    assert next_of(trigger) == NIGHT + timedelta(days=slot + 1)


def test_a_run_that_was_missed_by_more_than_36_hours_is_not_caught_up(world: World) -> None:
    trigger = schedule(world, options={"cron": "0 2 20 * *"})
    assert timers.run_due_timers_and_triggers(now=NIGHT + timedelta(hours=37)) == {"ignored": 1}
    assert outcomes(trigger) == [("ignored", "Missed by more than 36 h, so it is not caught up.")]
    assert next_of(trigger) == datetime(2026, 12, 20, 1, tzinfo=UTC)


def test_a_year_without_a_server_of_a_schedule_for_every_minute_is_one_task(world: World) -> None:
    trigger = schedule(world, options={"cron": "* * * * *"})
    assert timers.run_due_timers_and_triggers(now=NIGHT + timedelta(days=365)) == {"started": 1}
    assert next_of(trigger) == NIGHT + timedelta(days=365, minutes=1)


def test_a_clock_that_is_set_back_starts_nothing_twice(world: World) -> None:
    trigger = schedule(world, one_at_a_time=False)
    timers.run_due_timers_and_triggers(now=NIGHT)
    assert timers.run_due_timers_and_triggers(now=NIGHT - timedelta(hours=1)) == {}
    assert timers.run_due_timers_and_triggers(now=NIGHT) == {}
    # Changed meanwhile, it waits for the same slot anew
    due(trigger, NIGHT)
    assert timers.run_due_timers_and_triggers(now=NIGHT) == {"repeated": 1}
    assert Task.objects.count() == 1
    assert outcomes(trigger)[1][0] == "repeated"


def test_a_paused_schedule_owes_nothing(world: World) -> None:
    trigger = triggers.set_paused(schedule(world), True, by=world.operator)
    assert trigger.next_at is None
    assert timers.run_due_timers_and_triggers(now=NIGHT + timedelta(days=3)) == {}
    resumed = triggers.set_paused(trigger, False, by=world.designer)
    assert resumed.next_at is not None and resumed.next_at > timezone.now()
    assert resumed.changed_by == world.designer
    assert not trigger.deliveries.exists()


def test_a_refused_start_is_a_delivery_with_its_remedy_and_no_loop(world: World) -> None:
    trigger = schedule(world)
    branch = {"key": "branch", "label": "Branch", "type": "text", "required": True}
    world.line(stations=[station("work")], inputs=[*REQUEST, branch])
    assert timers.run_due_timers_and_triggers(now=NIGHT) == {"failed": 1}
    assert outcomes(trigger) == [
        ("failed", "Branch is required. Edit the trigger, or the start form of the line.")
    ]
    assert timers.run_due_timers_and_triggers(now=NIGHT) == {}
    assert not Task.objects.exists()


def test_an_archived_line_starts_nothing(world: World) -> None:
    trigger = schedule(world)
    line_settings.set_archived(trigger.line, True, by=world.admin)
    assert timers.run_due_timers_and_triggers(now=NIGHT) == {"ignored": 1}
    assert outcomes(trigger) == [("ignored", "The line is archived.")]


def test_a_fault_pauses_its_trigger_and_keeps_no_other_from_its_time(world: World) -> None:
    first = schedule(world)
    second = schedule(world, first.line.live)
    Trigger.objects.filter(pk=first.pk).update(options=NIGHTLY | {"zone": "Nowhere/Town"})
    assert timers.run_due_timers_and_triggers(now=NIGHT) == {"failed": 1, "started": 1}
    [(outcome, detail)] = outcomes(first)
    assert outcome == "failed" and "paused" in detail
    assert Trigger.objects.get(pk=first.pk).paused_at == NIGHT
    assert outcomes(second) == [("started", "")]
    assert timers.run_due_timers_and_triggers(now=NIGHT) == {}


def test_to_try_one_says_what_would_start_and_starts_nothing(world: World) -> None:
    trigger = schedule(world, title="Upkeep of {date}")
    tried = starting.try_out_and_undo(Trigger.objects.get(pk=trigger.pk))
    assert tried.outcome == "started" and tried.task is not None
    assert tried.task.title.startswith("Upkeep of 20")
    assert not Task.objects.exists() and not TriggerDelivery.objects.exists()
    timers.run_due_timers_and_triggers(now=NIGHT)
    assert Task.objects.get().number == 1
    tried = starting.try_out_and_undo(Trigger.objects.get(pk=trigger.pk))
    assert (tried.outcome, tried.task) == ("ignored", None)


@pytest.mark.parametrize(
    ("options", "inputs", "path"),
    [
        ({"cron": "never"}, {"request": "x"}, "options.cron"),
        ({"zone": "Mars/Olympus"}, {"request": "x"}, "options.zone"),
        ({"missed": "twice"}, {"request": "x"}, "options.missed"),
        ({}, {}, "inputs.request"),
        ({}, {"request": "x", "colour": "red"}, "inputs.colour"),
    ],
)
def test_a_schedule_that_could_start_nothing_is_not_saved(
    world: World, options: dict[str, str], inputs: dict[str, str], path: str
) -> None:
    with pytest.raises(Invalid) as refused:
        triggers.add_trigger(
            version_of(world).line,
            "schedule",
            TriggerRequest(NIGHTLY | options, inputs=inputs),
            by=world.operator,
        )
    assert [problem.path for problem in refused.value.problems] == [path]
    assert not Trigger.objects.exists()


def test_who_may_not_start_tasks_saves_pauses_and_deletes_none(world: World) -> None:
    trigger = schedule(world)
    request = TriggerRequest(NIGHTLY, inputs={"request": "x"})
    for refused in (world.viewer, world.stranger):
        for act in (
            lambda by: triggers.add_trigger(trigger.line, "schedule", request, by=by),
            lambda by: triggers.change_trigger(trigger, request, by=by),
            lambda by: triggers.set_paused(trigger, True, by=by),
            lambda by: triggers.delete_trigger(trigger, by=by),
        ):
            with pytest.raises(Exception, match=r"permission|Not found"):
                act(refused)
    assert next_of(trigger) == NIGHT


def test_each_change_is_recorded_and_the_log_goes_with_its_trigger(world: World) -> None:
    trigger = schedule(world)
    timers.run_due_timers_and_triggers(now=NIGHT)
    triggers.change_trigger(
        trigger, TriggerRequest(NIGHTLY, inputs={"request": "secret text"}), by=world.operator
    )
    triggers.set_paused(trigger, True, by=world.operator)
    triggers.set_paused(trigger, True, by=world.operator)
    triggers.set_paused(trigger, False, by=world.operator)
    triggers.delete_trigger(trigger, by=world.operator)
    acts = AdministrativeAct.objects.filter(kind__startswith="trigger.").order_by("pk")
    kinds = [act.kind.partition(".")[2] for act in acts]
    assert kinds == ["created", "changed", "paused", "resumed", "deleted"]
    assert all(act.name == "Line: Every day at 02:00" for act in acts)
    assert "secret text" not in str([act.data for act in acts])
    assert Task.objects.count() == 1 and not TriggerDelivery.objects.exists()


def test_a_line_has_at_most_so_many(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triggers, "MOST", 1)
    trigger = schedule(world)
    with pytest.raises(Conflict, match="at most 1"):
        schedule(world, trigger.line.live)


def test_old_deliveries_expire_but_for_a_task_that_has_not_ended(world: World) -> None:
    trigger = schedule(world)
    timers.run_due_timers_and_triggers(now=NIGHT)
    timers.run_due_timers_and_triggers(now=NIGHT + timedelta(days=1))
    assert triggers.delete_some_old_deliveries(NIGHT + timedelta(days=90)) == 0
    assert triggers.delete_some_old_deliveries(NIGHT + timedelta(days=92)) == 1
    assert [outcome for outcome, _ in outcomes(trigger)] == ["started"]
    engine.cancel(Task.objects.get().pk, actor=engine.ENGINE)
    assert triggers.delete_some_old_deliveries(NIGHT + timedelta(days=92)) == 1


def test_a_start_takes_as_many_statements_whatever_was_started_before(world: World) -> None:
    trigger = schedule(world)
    counts = []
    for day in range(3):
        with CaptureQueriesContext(
            connection,
        ) as statements:
            assert timers.run_due_timers_and_triggers(now=NIGHT + timedelta(days=day)) == {"started": 1}
        counts.append(len(statements))
        engine.cancel(Task.objects.latest("pk").pk, actor=engine.ENGINE)
        if day == 1:
            TriggerDelivery.objects.bulk_create(
                TriggerDelivery(trigger=trigger, key=f"old {n}", at=NIGHT, outcome="ignored")
                for n in range(1000)
            )
    assert counts[1] == counts[2]


def looking(workers: int, now: datetime) -> Counter[str]:
    """So many workers at once, each until nothing is due."""
    together = threading.Barrier(workers)

    def loop() -> Counter[str]:
        counts: Counter[str] = Counter()
        together.wait(LONG)
        try:
            while Trigger.objects.filter(next_at__lte=now).exists():
                counts += timers.run_due_timers_and_triggers(now=now)
        finally:
            connection.close()
        return counts

    with ThreadPoolExecutor(workers) as threads:
        return sum((future.result() for future in [threads.submit(loop) for _ in range(workers)]), Counter())


def many(world: World, number: int) -> None:
    trigger = schedule(world)
    Trigger.objects.bulk_create(
        Trigger(**{field.attname: getattr(trigger, field.attname) for field in Trigger._meta.concrete_fields}
                | {"id": None, "next_at": NIGHT})
        for _ in range(number - 1)
    )  # fmt: skip


def each_slot_started_once(number: int) -> None:
    assert Task.objects.count() == TriggerDelivery.objects.filter(outcome="started").count() == number
    assert TriggerDelivery.objects.values("trigger").distinct().count() == number
    assert not Trigger.objects.exclude(next_at=NIGHT + timedelta(days=1)).exists()


@pytest.mark.django_db(transaction=True)
def test_two_workers_start_each_slot_once(world: World) -> None:
    many(world, 30)
    assert looking(2, NIGHT)["started"] == 30
    each_slot_started_once(30)


@pytest.mark.soak
@pytest.mark.django_db(transaction=True)
def test_two_workers_start_10_000_schedules_that_are_due_at_once(world: World) -> None:
    many(world, 10_000)
    assert looking(2, NIGHT)["started"] == 10_000
    each_slot_started_once(10_000)


@pytest.mark.django_db(transaction=True)
def test_a_change_while_it_starts_waits_or_comes_first(world: World) -> None:
    """Of a pause and a start at the same time one is first; never both a pause and a next run."""
    version = version_of(world)
    for _ in range(5):
        trigger = schedule(world, version)
        acts = (
            partial(starting.start_due_trigger_and_return_outcome, trigger.pk, NIGHT),
            partial(triggers.set_paused, trigger, True, by=world.operator),
        )
        with ThreadPoolExecutor(2) as threads:
            for future in [threads.submit(and_close, act) for act in acts]:
                future.result()
        stored = Trigger.objects.get(pk=trigger.pk)
        assert stored.paused_at is not None and stored.next_at is None
        assert trigger.deliveries.count() <= 1


def and_close(act: Callable[[], object]) -> None:
    try:
        act()
    finally:
        connection.close()
