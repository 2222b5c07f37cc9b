"""Typed forms: the inputs of a line and the form of a manual station (law §1, Input).

One validator for browser, command line, API and triggers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from pipelines.engine.core.errors import InputError
from pipelines.models import Upload
from pipelines.routing.basics import values
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.document.inputs import Input
from pipelines.routing.document.kinds import KINDS
from pipelines.routing.document.line import Problem, Station
from pipelines.routing.document.work.references import NAME
from pipelines.vault.finding import SECRET, Reach

LONGEST = 100_000
NO_SECRET = "has to be the name of a secret that is stored for this line, such as API_TOKEN"
PATH = 4096
# Of git: https://host/…, ssh://user@host/… or user@host:path.
ADDRESS = re.compile(r"(https|ssh)://[^/]|[A-Za-z0-9_][A-Za-z0-9_.-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[^/:]")
DIGEST = re.compile(r"[0-9a-f]{64}\Z")


def fill(
    fields: Iterable[Input], given: Mapping[str, Any], reach: Reach, at: str = "inputs"
) -> dict[str, Any]:
    """The values with defaults filled in. Raises `InputError` with every problem. Null and "" count as not given. A
    file has to have been uploaded to the project that `reach` names, a secret to be stored there; its default counts
    only while it is."""
    fields = tuple(fields)
    known = known_secrets(fields, reach)
    problems = [_unknown(at, key) for key in given if key not in {field.key for field in fields}]
    filled: dict[str, Any] = {}
    for field in fields:
        value = given.get(field.key)
        if value is None or value == "":
            value = default_of(field, known)
        if value is None:
            problems += [Problem(f"{at}.{field.key}", "is required", field.help)] if field.required else []
            continue
        fault = fault_of(field, value) or unknown_secret(field, value, known)
        problems += [Problem(f"{at}.{field.key}", fault, field.help)] if fault else []
        filled[field.key] = value
    problems += _unknown_files(fields, filled, reach.project, at)
    if problems:
        raise InputError(problems)
    return filled


def default_of(field: Input, known: Collection[str]) -> Any:
    if not field.has_default or (field.type == "secret" and field.default not in known):
        return None
    return field.default


def known_secrets(fields: Iterable[Input], reach: Reach) -> Sequence[str]:
    """The names that a field of the type secret takes; asked for only where there is one."""
    return reach.names(SECRET) if any(field.type == "secret" for field in fields) else ()


def unknown_secret(field: Input, value: Any, known: Collection[str]) -> str:
    return NO_SECRET if field.type == "secret" and value not in known else ""


def _unknown_files(
    fields: Iterable[Input], filled: dict[str, Any], project_id: int, at: str
) -> list[Problem]:
    """Files that were not uploaded to the project. Those that were get the size that was measured."""
    keys = [
        field.key for field in fields if field.type == "file" and not fault_of(field, filled.get(field.key))
    ]
    if not keys:
        return []
    digests = {filled[key]["digest"] for key in keys}
    sizes = dict(
        Upload.objects.filter(project=project_id, blob__in=digests).values_list("blob_id", "blob__size")
    )
    problems = []
    for key in keys:
        name, digest = filled[key]["name"], filled[key]["digest"]
        if digest in sizes:
            filled[key] = {"name": name, "digest": digest, "size": sizes[digest]}
        else:
            problems.append(Problem(f"{at}.{key}", "is no file that was uploaded to this project"))
    return problems


def form_of(station: Station) -> tuple[Input, ...]:
    """What a person who does the work of a station fills in."""
    kind = KINDS.get(station.kind)
    return kind.form(station) if kind else ()


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
    """A folder that workers may read, or an https or ssh address. Which hosts may be reached is checked where they
    are reached (house §5)."""
    if not isinstance(value, str):
        return "has to be the address or folder of a repository"
    if value.strip() != value or value.startswith("-") or not value.isprintable() or len(value) > PATH:
        return "is not the address or folder of a repository"
    if value.startswith("/"):
        return "" if _readable(value) else f"is not in a folder that the worker may read: {_roots()}"
    if ADDRESS.match(value):
        return ""
    return f"has to be an https or ssh address, or a folder below {_roots()}"


def _readable(folder: str) -> bool:
    """Nothing outside the roots is looked at, but for where links lead."""
    real = Path(os.path.realpath(folder))
    return any(real.is_relative_to(os.path.realpath(root)) for root in settings.REPOSITORY_ROOTS)


def _roots() -> str:
    return ", ".join(map(str, settings.REPOSITORY_ROOTS)) or "none is listed (GATELINE_REPOSITORY_ROOTS)"


def _file(field: Input, value: Any) -> str:
    """`{name, digest}` of an uploaded file; its size may be there."""
    stored = isinstance(value, dict) and {"name", "digest"} <= set(value) <= {"name", "digest", "size"}
    if stored and _is_name(value["name"]) and DIGEST.match(str(value["digest"])):
        return ""
    return "has to be an uploaded file: {name, digest}"


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and 0 < len(name) <= 200 and name.isprintable()


def _secret(field: Input, value: Any) -> str:
    """The name of a stored secret, never the secret: what is none is not repeated in the answer."""
    return "" if isinstance(value, str) and NAME.match(value) else NO_SECRET


CHECKS: dict[str, Callable[[Input, Any], str]] = {
    "text": _text,
    "number": _number,
    "choice": _choice,
    "date": _date,
    "repository": _repository,
    "file": _file,
    "secret": _secret,
}
