"""Cron expressions in a time zone: the instants they name, and what they say in words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

FIELDS, MAX_LENGTH = 5, 100
WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
LAST_DAY: Final = "L"
_PLAIN = re.compile(
    r"(?P<minute>\d{1,2}) (?P<hour>\*|\d{1,2}) (?P<day>\*|L|\d{1,2}) \* (?P<weekday>\*|1-5|[0-6])"
)


class CronFault(ValueError):
    """Fault of a cron expression, and what to do."""


def checked_cron(text: str) -> str:
    """Return the expression with single blanks. Raises CronFault."""
    fields = text.split()
    if len(fields) != FIELDS or len(text) > MAX_LENGTH:
        raise CronFault(
            "Enter five fields: minute, hour, day of the month, month, weekday. For example 30 7 * * 1-5."
        )
    expression = " ".join(fields).upper()
    try:
        CronSim(expression, datetime(2000, 1, 1, tzinfo=UTC))
    except CronSimError as fault:
        field = str(fault).removeprefix("Bad ").replace("day-of-", "day of the ")
        raise CronFault(
            f"The {field} cannot be read. For example 30 7 * * 1-5 is every weekday at 07:30."
        ) from fault
    return expression


def slots_after(expression: str, zone: str, after: datetime) -> Iterator[datetime]:
    """Yield the instants of an expression after this one, each later than the one before, in UTC.

    As cron has it (law §16): a time that the clock leaves out counts once, right after the gap; a time that the clock
    shows twice counts once; an expression for every hour counts each hour that passes."""
    last = after
    # cronsim names a time of the repeated hour by its first occurrence, also after that has passed.
    for slot in CronSim(expression, after.astimezone(ZoneInfo(zone))):
        instant = slot.astimezone(UTC)
        if instant > last:
            yield instant
            last = instant


@dataclass(frozen=True, slots=True)
class Cadence:
    """A plain choice of the form, and the expression for it. `every`: a key of EVERY. `time`: HH:MM, of which an hourly
    one takes the minutes. `weekday`: 0 is Sunday. `day`: of the month, 1 to 28, or L for the last."""

    every: str = "day"
    time: str = "02:00"
    weekday: str = "1"
    day: str = "1"

    def expression(self) -> str:
        hour, _colon, minute = self.time.partition(":")
        fields = {
            "hour": ("*", "*", "*"),
            "day": (hour, "*", "*"),
            "weekday": (hour, "*", "1-5"),
            "week": (hour, "*", self.weekday),
            "month": (hour, self.day, "*"),
        }
        at, day, weekday = fields[self.every]
        return f"{int(minute)} {at if at == '*' else int(at)} {day} * {weekday}"

    def __str__(self) -> str:
        day = "the last day" if self.day == LAST_DAY else f"day {self.day}"
        return {
            "hour": f"Every hour at :{self.time[-2:]}",
            "day": f"Every day at {self.time}",
            "weekday": f"Every weekday at {self.time}",
            "week": f"Every {WEEKDAYS[int(self.weekday)]} at {self.time}",
            "month": f"Every month on {day} at {self.time}",
        }[self.every]


EVERY: Final = {
    "hour": "Every hour",
    "day": "Every day",
    "weekday": "Every weekday, Monday to Friday",
    "week": "Every week",
    "month": "Every month",
}


def plain_cadence_or_none(expression: str) -> Cadence | None:
    """Return the plain choice that an expression stands for, None where it is none of them."""
    match = _PLAIN.fullmatch(expression)
    if match is None:
        return None
    minute, hour, day, weekday = match["minute"], match["hour"], match["day"], match["weekday"]
    every = {
        (True, True, "*"): "hour",
        (False, True, "*"): "day",
        (False, True, "1-5"): "weekday",
        (False, False, "*"): "month",
    }.get((hour == "*", day == "*", weekday), "week" if hour != "*" and day == "*" else "")
    if not every:
        return None
    time = f"{int(hour) if hour != '*' else 0:02}:{int(minute):02}"
    return Cadence(every, time, weekday if every == "week" else "1", day if every == "month" else "1")


def schedule_sentence(expression: str) -> str:
    """Say an expression in a sentence without its full stop."""
    cadence = plain_cadence_or_none(expression)
    return str(cadence) if cadence else CronSim(expression, datetime(2000, 1, 1, tzinfo=UTC)).explain()
