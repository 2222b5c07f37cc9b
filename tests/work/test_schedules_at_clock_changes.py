"""Many schedules of several zones over a night on which clocks change, by two workers whose clock is set back."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice, product
from zoneinfo import ZoneInfo

import pytest

from pipelines.models import Task, Trigger, TriggerDelivery
from pipelines.work.triggers.calendar import slots_after
from tests.factories import World
from tests.work.test_triggers import looking, schedule

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]
ZONES = ("Europe/Berlin", "Europe/London", "Atlantic/Azores", "Europe/Athens", "America/Nuuk", "UTC")
"""All but the last change their clocks at the same instant, 01:00 UTC."""
MINUTES, HOURS = (0, 15, 30, 59), (0, 1, 2, 3)
NIGHTS = {
    "twice": datetime(2026, 10, 24, 20, tzinfo=UTC),
    "left out": datetime(2026, 3, 28, 20, tzinfo=UTC),
}
STEP, STEPS = timedelta(minutes=30), 16


def local_instant(day: datetime, zone: str, hour: int, minute: int) -> datetime:
    """Return the instant of a local time of the day: the first of two; of none the one right after the gap."""
    place = ZoneInfo(zone)
    at = datetime(day.year, day.month, day.day, hour, minute, tzinfo=place)
    while at.astimezone(UTC).astimezone(place).replace(tzinfo=None) != at.replace(tzinfo=None):
        at = (at + timedelta(minutes=1)).replace(fold=0)
    return at.astimezone(UTC)


def copies(trigger: Trigger, number: int, start: datetime) -> dict[int, datetime]:
    """Save so many schedules, and return {schedule: its one slot of the night}."""
    slots: dict[int, datetime] = {}
    rows = []
    fields = {field.attname: getattr(trigger, field.attname) for field in Trigger._meta.concrete_fields}
    for hour, minute, zone in islice(cycle(product(HOURS, MINUTES, ZONES)), number):
        options = trigger.options | {"cron": f"{minute} {hour} * * *", "zone": zone}
        upcoming = next(slots_after(options["cron"], zone, start))
        rows.append(Trigger(**fields | {"id": None, "options": options, "next_at": upcoming}))
    for row in Trigger.objects.bulk_create(rows):
        local = (start + timedelta(hours=4)).astimezone(ZoneInfo(row.options["zone"]))
        minute, hour = (int(part) for part in row.options["cron"].split()[:2])
        days = (local + timedelta(days=days) for days in (-1, 0, 1))
        slots[row.pk] = min(
            at for day in days if (at := local_instant(day, row.options["zone"], hour, minute)) > start
        )
    return slots


@pytest.mark.smoke(1)
@pytest.mark.parametrize("night", NIGHTS)
@pytest.mark.parametrize("number", [96, pytest.param(5_000, marks=pytest.mark.soak)])
def test_two_workers_start_each_slot_of_the_night_once(world: World, night: str, number: int) -> None:
    start = NIGHTS[night]
    slots = copies(schedule(world, one_at_a_time=False), number, start)
    Trigger.objects.exclude(pk__in=slots).delete()
    counts: Counter[str] = Counter()
    for step in range(1, STEPS + 1):
        counts += looking(2, start + step * STEP)
        if step % 4 == 0:
            # The clock is set back by an hour, and goes on from there
            counts += looking(2, start + (step - 2) * STEP)
    end = start + STEPS * STEP
    due = {pk: at for pk, at in slots.items() if at <= end}
    assert len(due) > number // 2
    started = TriggerDelivery.objects.filter(outcome="started").values_list("trigger", "key")
    assert sorted(started) == sorted((pk, f"{at:%Y-%m-%dT%H:%MZ}") for pk, at in due.items())
    assert counts["started"] == Task.objects.count() == len(due) and set(counts) <= {"started", "gone"}
    later = dict(Trigger.objects.values_list("pk", "next_at"))
    assert all(later[pk] == at for pk, at in slots.items() if pk not in due)
    assert all(timedelta(hours=23) <= later[pk] - at <= timedelta(hours=25) for pk, at in due.items())
