"""Typed forms: the inputs of a line and the form of a manual station (law §1, Input).

One validator for browser, command line, API and triggers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from pipelines.engine.errors import InputError
from pipelines.routing import values
from pipelines.routing.kinds import labels
from pipelines.routing.line import Input, Problem, Station
from pipelines.routing.problems import Malformed
from pipelines.routing.reading.reader import Problems, Reader
from pipelines.routing.reading.stations import read_input

LONGEST = 100_000
# The field in which a person names what a `route` chose.
LABEL = "label"
SECRET = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")
DIGEST = re.compile(r"[0-9a-f]{64}\Z")


def fill(fields: Iterable[Input], given: Mapping[str, Any], at: str = "inputs") -> dict[str, Any]:
    """The values with defaults filled in. Raises `InputError` with every problem. Null and "" count as not given."""
    fields = tuple(fields)
    problems = [_unknown(at, key) for key in given if key not in {field.key for field in fields}]
    filled: dict[str, Any] = {}
    for field in fields:
        value = given.get(field.key)
        if value is None or value == "":
            value = field.default if field.has_default else None
        if value is None:
            problems += [Problem(f"{at}.{field.key}", "is required", field.help)] if field.required else []
            continue
        fault = fault_of(field, value)
        problems += [Problem(f"{at}.{field.key}", fault, field.help)] if fault else []
        filled[field.key] = value
    if problems:
        raise InputError(problems)
    return filled


def read_form(form: Any) -> tuple[Input, ...]:
    """The fields of a manual station's `work.form`, which a published version has already checked."""
    return Reader({"form": form or []}, "work", Problems()).each("form", read_input)


def form_of(station: Station) -> tuple[Input, ...]:
    """What a person who does the work of a station fills in."""
    if station.kind == "route":
        text = str(station.work.get("prompt") or "")
        choice = Input(
            LABEL, "choice", label="Label", help=text[:500], required=True, choices=labels(station)
        )
        return (choice,)
    return read_form(station.work.get("form"))


def fault_of(field: Input, value: Any) -> str:
    """What is wrong with a value, or ""."""
    try:
        values.check(value, field.key)
    except Malformed as fault:
        return fault.message
    if isinstance(value, str) and len(value) > LONGEST:
        return f"is longer than {LONGEST} characters"
    return CHECKS[field.type](field, value)


def moment(text: str, at: str = "due_at") -> datetime | None:
    """A time as people write it, `2026-12-31T17:00`, in the current time zone unless it names one; "" is none. Raises
    `InputError`."""
    if not text.strip():
        return None
    try:
        found = parse_datetime(text.strip())
    except ValueError:
        found = None
    if found is None:
        raise InputError([Problem(at, "has to be a time like 2026-12-31T17:00")])
    return timezone.make_aware(found) if timezone.is_naive(found) else found


def _unknown(at: str, key: Any) -> Problem:
    return Problem(f"{at}.{key}", "is not an input of this line", "Remove it.")


def _text(field: Input, value: Any) -> str:
    return "" if isinstance(value, str) else "has to be a text"


def _number(field: Input, value: Any) -> str:
    number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return "" if number else "has to be a number"


def _choice(field: Input, value: Any) -> str:
    return "" if value in field.choices else "has to be one of: " + ", ".join(field.choices)


def _date(field: Input, value: Any) -> str:
    try:
        # Python also reads 20260101 and 2026-W01-1.
        return "" if date.fromisoformat(value).isoformat() == value else "has to be a date like 2026-12-31"
    except (TypeError, ValueError):
        return "has to be a date like 2026-12-31"


def _repository(field: Input, value: Any) -> str:
    """A folder or an address; what may be reached is checked where it is reached (house §5)."""
    if not isinstance(value, str):
        return "has to be the address or folder of a repository"
    if value.strip() != value or value.startswith("-") or any(ord(char) < 32 for char in value):
        return "is not the address or folder of a repository"
    return ""


def _file(field: Input, value: Any) -> str:
    """`{name, digest}` of a stored file."""
    stored = isinstance(value, dict) and {"name", "digest"} <= set(value)
    if stored and isinstance(value["name"], str) and DIGEST.match(str(value["digest"])):
        return ""
    return "has to be an uploaded file: {name, digest}"


def _secret(field: Input, value: Any) -> str:
    """The name of a secret, never the secret."""
    named = isinstance(value, str) and SECRET.match(value)
    return "" if named else "has to be the name of a secret (letters, digits, “_”, “.”, “-”)"


CHECKS: dict[str, Callable[[Input, Any], str]] = {
    "text": _text,
    "number": _number,
    "choice": _choice,
    "date": _date,
    "repository": _repository,
    "file": _file,
    "secret": _secret,
}
