"""Form of a schedule: plain choices or a cron expression, in a time zone, and the start form of the line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from pipelines.lines.triggers import TriggerRequest
from pipelines.models import Line, Trigger, User
from pipelines.people.working_time import time_zone_names
from pipelines.ports import clock
from pipelines.routing.document.line import Problem
from pipelines.web.tasks.start import input_values_of_form
from pipelines.web.triggers import shared_form
from pipelines.web.triggers.cards import NextRun, next_runs
from pipelines.web.triggers.shared_form import Typed
from pipelines.work.triggers import calendar
from pipelines.work.triggers.calendar import EVERY, LAST_DAY, WEEKDAYS, Cadence, plain_cadence_or_none
from pipelines.work.triggers.schedule import MISSED, SCHEDULE

CRON: Final = "cron"
CHOICES: Final = (*EVERY.items(), (CRON, "Cron expression"))
DAYS: Final = (*((str(day), f"Day {day}") for day in range(1, 29)), (LAST_DAY, "Last day"))
# Monday comes first
DAY_NAMES: Final = tuple((str(number % 7), WEEKDAYS[number % 7]) for number in range(1, 8))
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
BLANK: Final = dict.fromkeys(
    ("every", "time", "minute", "weekday", "day", CRON, "zone", "missed", "one_at_a_time", "title"), ""
)
"""What a form that was sent in part has not."""
OWN: Final = {"title": "title", "zone": "options.zone", "missed": "options.missed"}


@dataclass(frozen=True, slots=True)
class Preview:
    """Preview of a form before it is saved: the sentence and the next runs, or what is wrong with them."""

    words: str = ""
    runs: Sequence[NextRun] = ()
    fault: str = ""


def cron_expression(typed: Typed) -> str:
    """Return the cron expression of the form. Raises CronFault."""
    every = typed.get("every", "")
    if every == CRON:
        return calendar.checked_cron(typed.get(CRON, ""))
    if every not in EVERY:
        raise calendar.CronFault("Choose how often.")
    minute = typed.get("minute", "")
    time = f"00:{int(minute):02}" if minute.isascii() and minute.isdigit() and len(minute) < 3 else "00:60"
    time = time if every == "hour" else typed.get("time", "")
    if not _TIME.fullmatch(time):
        raise calendar.CronFault(
            "Enter a minute from 0 to 59." if every == "hour" else "Enter a time like 07:30."
        )
    weekday, day = typed.get("weekday", "1"), typed.get("day", "1")
    if weekday not in dict(DAY_NAMES) or day not in dict(DAYS):
        raise calendar.CronFault("Choose one of the days.")
    return Cadence(every, time, weekday, day).expression()


def schedule_preview(typed: Typed, now: datetime) -> Preview:
    """Return what the form would start, and when."""
    try:
        expression = cron_expression(typed)
    except calendar.CronFault as fault:
        return Preview(fault=str(fault))
    if typed.get("zone", "") not in time_zone_names():
        return Preview(fault="Choose a time zone.")
    options = {CRON: expression, "zone": typed["zone"]}
    return Preview(SCHEDULE.words(options), next_runs(SCHEDULE, options, now))


def trigger_request(line: Line, typed: Typed) -> TriggerRequest:
    """Return what the form asks for, unchecked: an expression that cannot be read goes along as it is."""
    try:
        expression = cron_expression(typed)
    except calendar.CronFault:
        expression = typed.get(CRON, "") if typed.get("every") == CRON else ""
    return TriggerRequest(
        {"cron": expression, "zone": typed.get("zone", ""), "missed": typed.get("missed", "")},
        typed.get("title", ""),
        input_values_of_form(shared_form.live_inputs(line), typed),
        one_at_a_time="one_at_a_time" in typed,
    )


def new_form_values(line: Line, user: User, query: Typed) -> dict[str, str]:
    """Return a new form, with what the address says of it, `?every=week&time=09:00`, or what a line of ALP did."""
    zone = user.time_zone if user.time_zone != "UTC" else line.project.time_zone
    every = query.get("every", "day")
    cadence = Cadence(every if every in EVERY else "day", query.get("time", "02:00")[:5])
    if "every" not in query:
        cadence, zone = _imported_cadence_and_zone(line, cadence, zone)
    return {**_cadence_fields(cadence), "zone": zone, "missed": "once", "one_at_a_time": "on", "title": ""}


def _imported_cadence_and_zone(line: Line, cadence: Cadence, zone: str) -> tuple[Cadence, str]:
    """Return the weekly cadence of a line that was imported from ALP (`init.json`, `schedule`), if it has one."""
    document: Any = line.live.document if line.live else {}
    for key in ("extra", "init", "schedule"):
        document = document.get(key) if isinstance(document, Mapping) else None
    if not isinstance(document, Mapping):
        return cadence, zone
    day, place = str(document.get("weekday")).capitalize(), document.get("timeZone")
    if day in WEEKDAYS:
        cadence = replace(cadence, every="week", weekday=str(WEEKDAYS.index(day)))
    return cadence, place if place in time_zone_names() else zone


def stored_form_values(trigger: Trigger) -> dict[str, str]:
    """Return the form of a trigger that there is."""
    options = trigger.options
    cadence = plain_cadence_or_none(options["cron"])
    when = (
        _cadence_fields(cadence or Cadence()) | ({} if cadence else {"every": CRON}) | {CRON: options["cron"]}
    )
    own = {"zone": options["zone"], "missed": options["missed"]}
    return {**when, **own, **shared_form.stored_shared_fields(trigger)}


def _cadence_fields(cadence: Cadence) -> dict[str, str]:
    return {
        "every": cadence.every,
        "time": "02:00" if cadence.every == "hour" else cadence.time,
        "minute": str(int(cadence.time[-2:]))
        if cadence.every == "hour" and cadence.time[-2:].isdigit()
        else "0",
        "weekday": cadence.weekday,
        "day": cadence.day,
        CRON: "",
    }


def form_context(
    line: Line, user: User, typed: Typed, problems: Sequence[Problem], *, is_fresh: bool = False
) -> dict[str, Any]:
    """Return the context of `triggers/schedule.html`. `is_fresh`: the inputs begin with their defaults."""
    # What is wrong with the time stands where the next runs would
    shared = shared_form.shared_form_context(
        line, user, typed, problems, OWN, is_fresh=is_fresh, elsewhere=[f"options.{CRON}"]
    )
    return {
        **shared,
        "typed": {**BLANK, **typed},
        "preview": schedule_preview(typed, clock.now()),
        "choices": CHOICES,
        "days": DAYS,
        "day_names": DAY_NAMES,
        "zones": [(zone, zone) for zone in time_zone_names()],
        "missed": list(MISSED.items()),
    }
