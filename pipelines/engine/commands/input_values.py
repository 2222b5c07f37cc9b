"""Checks of the value of one input (law §1, Input): one for each of its types."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

from pipelines.routing.basics import values
from pipelines.routing.basics.file_signatures import contradicting_ending
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.document.inputs import Input
from pipelines.routing.document.operators import compile_pattern
from pipelines.routing.document.work.references import NAME

LONGEST = 100_000
NO_SECRET = "must be the name of a secret that is stored for this line, such as API_TOKEN"
NO_REPOSITORY = (
    "has to be the name of a connected repository, an https or ssh address, or a folder that is allowed"
)
REPOSITORY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
# Characters of an address or folder, and of a revision
PATH, REVISION = 4096, 250
MIB = 1024 * 1024
# Of git: https://host/…, ssh://user@host/… or user@host:path.
ADDRESS = re.compile(r"(https|ssh)://[^/]|[A-Za-z0-9_][A-Za-z0-9_.-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[^/:]")
REVISIONS = re.compile(r"[\w+=@][\w./+=@#-]*\Z")
DIGEST = re.compile(r"[0-9a-f]{64}\Z")


def fault_of(field: Input, value: Any) -> str:
    """Return what is wrong with a value, or ""."""
    try:
        values.check_storable(value, field.key)
    except Malformed as fault:
        return fault.message
    if isinstance(value, str) and len(value) > LONGEST:
        return f"is longer than {LONGEST} characters"
    return CHECKS[field.type](field, value)


def _text_fault(field: Input, value: Any) -> str:
    if not isinstance(value, str):
        return "has to be a text"
    if field.minimum is not None and len(value) < field.minimum:
        return f"has to have at least {field.minimum} characters"
    if field.maximum is not None and len(value) > field.maximum:
        return f"may have at most {field.maximum} characters"
    if field.pattern and not compile_pattern(field.pattern).fullmatch(value):
        return f"has to match {field.pattern}"
    return ""


def _number_fault(field: Input, value: Any) -> str:
    # To Python a bool is an int.
    if not isinstance(value, int | float | Decimal) or isinstance(value, bool):
        return "has to be a number"
    if field.minimum is not None and value < field.minimum:
        return f"has to be {field.minimum} or more"
    if field.maximum is not None and value > field.maximum:
        return f"has to be {field.maximum} or less"
    return ""


def _yes_no_fault(field: Input, value: Any) -> str:
    return "" if isinstance(value, bool) else "has to be yes or no: true or false"


def _choice_fault(field: Input, value: Any) -> str:
    return "" if value in field.choices else f"has to be one of: {', '.join(field.choices)}"


def _date_fault(field: Input, value: Any) -> str:
    try:
        # Python also reads 20260101 and 2026-W01-1.
        return "" if date.fromisoformat(value).isoformat() == value else "has to be a date like 2026-12-31"
    except (TypeError, ValueError):
        return "has to be a date like 2026-12-31"


def _repository_fault(field: Input, value: Any) -> str:
    """A folder, the name of a connected repository, or an https or ssh address. Whether the folder is allowed is known
    to `inputs`; which hosts may be reached is checked where they are reached (house §5)."""
    if not isinstance(value, str):
        return "has to be the address or folder of a repository"
    if value.strip() != value or value.startswith("-") or not value.isprintable() or len(value) > PATH:
        return "is not the address or folder of a repository"
    if value.startswith("/") or ADDRESS.match(value) or REPOSITORY_NAME.fullmatch(value):
        return ""
    return str(NO_REPOSITORY)


def _revision_fault(field: Input, value: Any) -> str:
    """Check a revision: what git takes for the name of a branch or tag, or a commit; never an option or an
    expression."""
    match = isinstance(value, str) and len(value) <= REVISION and REVISIONS.match(value)
    return "" if match and ".." not in value else "has to be a branch, a tag or a commit"


def _file_fault(field: Input, value: Any) -> str:
    """Return what is wrong with a reference `{name, digest}` to an uploaded file, or "". A size in it is
    ignored;

    `size_fault` checks the stored one.
    """
    stored = isinstance(value, dict) and {"name", "digest"} <= set(value) <= {"name", "digest", "size"}
    if not stored or not _is_name(value["name"]) or not DIGEST.match(str(value["digest"])):
        return "has to be an uploaded file: {name, digest}"
    if field.accept and not value["name"].lower().endswith(field.accept):
        return f"has to be a file of the type {', '.join(field.accept)}"
    return ""


def size_fault(field: Input, size: int) -> str:
    """Return what is wrong with the measured size of a file, or ""."""
    too_large = field.maximum is not None and size > field.maximum * MIB
    return f"is larger than {field.maximum} MiB" if too_large else ""


def content_fault(field: Input, name: str, content: str) -> str:
    """Return what is wrong with the content of a file, judged by its first bytes where the field accepts only
    some types, or ""."""
    ending = contradicting_ending(name, content) if field.accept else ""
    if not ending:
        return ""
    return f"has the ending {ending}, but its content is of another type"


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and 0 < len(name) <= 200 and name.isprintable()


def _secret_fault(field: Input, value: Any) -> str:
    """The name of a stored secret, never the secret itself: a value that is not a known name is not repeated in the
    answer."""
    return "" if isinstance(value, str) and NAME.match(value) else str(NO_SECRET)


CHECKS: dict[str, Callable[[Input, Any], str]] = {
    "text": _text_fault,
    "long_text": _text_fault,
    "number": _number_fault,
    "choice": _choice_fault,
    "yes_no": _yes_no_fault,
    "date": _date_fault,
    "repository": _repository_fault,
    "revision": _revision_fault,
    "file": _file_fault,
    "secret": _secret_fault,
}
