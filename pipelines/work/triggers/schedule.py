"""Schedules: tasks that start by the clock of a time zone."""

from __future__ import annotations

import zoneinfo
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Any, Final

from pipelines.errors import Invalid
from pipelines.work.triggers import calendar
from pipelines.work.triggers.kind import (
    Occasion,
    Options,
    TriggerClock,
    TriggerFact,
    TriggerKind,
    refuse_unknown_options,
)

PUNCTUAL = timedelta(minutes=10)
"""How late a slot may start that counts as on time: many may be due at once."""
OLDEST = timedelta(hours=36)
"""A missed slot that is older is not caught up (ALP)."""
ONCE, SKIP = "once", "skip"
MISSED: Final = {ONCE: "Start once, if less than 36 h late", SKIP: "Skip it"}
DEFAULTS: Final = {"cron": "", "zone": "UTC", "missed": ONCE}
_KEY = "%Y-%m-%dT%H:%MZ"


def _stored_options(options: Options) -> dict[str, Any]:
    refuse_unknown_options(options, DEFAULTS)
    expression, zone, missed = (str(options.get(name, default)) for name, default in DEFAULTS.items())
    try:
        expression = calendar.checked_cron(expression)
    except calendar.CronFault as fault:
        raise Invalid.at("cron", str(fault)) from fault
    if zone not in zoneinfo.available_timezones():
        raise Invalid.at("zone", "There is no such time zone. Enter one like Europe/Berlin.")
    if missed not in MISSED:
        raise Invalid.at("missed", f"Choose one of: {', '.join(MISSED)}.")
    return {"cron": expression, "zone": zone, "missed": missed}


def _trigger_facts(options: Options) -> list[TriggerFact]:
    return [
        TriggerFact("When", calendar.schedule_sentence(options["cron"]), options["cron"]),
        TriggerFact("Missed run", MISSED[options["missed"]]),
    ]


def _latest_occasion(options: Options, slot: datetime, now: datetime) -> Occasion:
    """Return the occasion of the latest slot up to now: those before it were missed with it."""
    # Not from the first one missed: of a line that was down for a year that may be half a million slots.
    since = max(slot, now - OLDEST) - timedelta(seconds=1)
    past = list(
        takewhile(lambda at: at <= now, calendar.slots_after(options["cron"], options["zone"], since))
    )
    latest = past[-1] if past else slot
    late = now - latest
    refusal = note = ""
    if late > OLDEST:
        refusal = "Missed by more than 36 h, so it is not caught up."
    elif late > PUNCTUAL and options["missed"] == SKIP:
        refusal = "Missed. This schedule skips runs that are missed."
    elif late > PUNCTUAL:
        note = "Missed, and caught up once."
    elif latest > slot:
        note = "Earlier runs were missed."
    local = latest.astimezone(zoneinfo.ZoneInfo(options["zone"]))
    return Occasion(latest.strftime(_KEY), local, refusal, note=note)


def _time_of_key_or_none(key: str) -> datetime | None:
    return datetime.strptime(key, _KEY).replace(tzinfo=UTC)


SCHEDULE = TriggerKind(
    "schedule",
    "Schedule",
    "schedule",
    read=_stored_options,
    words=lambda options: calendar.schedule_sentence(options["cron"]),
    detail=lambda options: str(options["zone"]),
    facts=_trigger_facts,
    clock=TriggerClock(
        zone=lambda options: str(options["zone"]),
        upcoming=lambda options, after: calendar.slots_after(options["cron"], options["zone"], after),
        occasion=_latest_occasion,
        occasion_at=_time_of_key_or_none,
    ),
    one_at_a_time=True,
)
