"""Dates written as Go's layouts show them (`2006-01-02 15:04`): what `{{now:…}}` takes (dialect B). Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

# Digits of a second: `.000` keeps zeros at the end, `,999` drops them
_FRACTION = re.compile(r"[.,](0+|9+)(?!\d)")


def format_time(moment: datetime, layout: str) -> str:
    """`moment`, in its own zone, as the layout shows Go's reference time, Mon Jan 2 15:04:05 MST 2006."""
    return _PART.sub(lambda match: _format_part(match[0], moment), layout)


def _format_part(part: str, moment: datetime) -> str:
    if part in PARTS:
        return PARTS[part](moment)
    # Python has microseconds, Go's layouts up to nine digits.
    digits = f"{moment.microsecond:06d}000"[: len(part) - 1]
    if part[1] == "9":  # without the zeros at the end
        digits = digits.rstrip("0")
    return part[0] + digits if digits else ""


def _zone(moment: datetime, between: str, zero: str = "") -> str:
    offset = moment.strftime("%z") or "+0000"
    return zero if zero and offset == "+0000" else f"{offset[:3]}{between}{offset[3:5]}"


PARTS: dict[str, Callable[[datetime], str]] = {
    "January": lambda moment: MONTHS[moment.month - 1],
    "Jan": lambda moment: MONTHS[moment.month - 1][:3],
    "Monday": lambda moment: DAYS[moment.weekday()],
    "Mon": lambda moment: DAYS[moment.weekday()][:3],
    "MST": lambda moment: moment.tzname() or "UTC",
    "2006": lambda moment: f"{moment.year:04d}",
    "002": lambda moment: f"{moment.timetuple().tm_yday:03d}",
    "__2": lambda moment: f"{moment.timetuple().tm_yday:3d}",
    "01": lambda moment: f"{moment.month:02d}",
    "02": lambda moment: f"{moment.day:02d}",
    "03": lambda moment: f"{moment.hour % 12 or 12:02d}",
    "04": lambda moment: f"{moment.minute:02d}",
    "05": lambda moment: f"{moment.second:02d}",
    "06": lambda moment: f"{moment.year % 100:02d}",
    "15": lambda moment: f"{moment.hour:02d}",
    "_2": lambda moment: f"{moment.day:2d}",
    "PM": lambda moment: "PM" if moment.hour >= 12 else "AM",
    "pm": lambda moment: "pm" if moment.hour >= 12 else "am",
    "-07:00": lambda moment: _zone(moment, ":"),
    "-0700": lambda moment: _zone(moment, ""),
    "Z07:00": lambda moment: _zone(moment, ":", "Z"),
    "Z0700": lambda moment: _zone(moment, "", "Z"),
    "1": lambda moment: str(moment.month),
    "2": lambda moment: str(moment.day),
    "3": lambda moment: str(moment.hour % 12 or 12),
    "4": lambda moment: str(moment.minute),
    "5": lambda moment: str(moment.second),
}
# The longest part first: as Go reads them.
_PART = re.compile(
    f"{_FRACTION.pattern}|"
    + "|".join(
        # As in Go, “Janet” and “Monkey” hold no part.
        re.escape(part) + ("(?![a-z])" if part in ("Jan", "Mon") else "")
        for part in sorted(PARTS, key=len, reverse=True)
    )
)
