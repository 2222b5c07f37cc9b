"""Two versions of a stored line, or its draft, beside each other: remembered, since a version never changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pipelines.errors import Invalid, NotFound
from pipelines.models import Line
from pipelines.routing.canonical import digest
from pipelines.routing.difference.compare import Difference, difference
from pipelines.routing.line import DocumentError, read_line

LIVE, DRAFT = "live", "draft"
REMEMBERED = 64
"""Pairs per process."""


@dataclass(frozen=True)
class Side:
    """One of the two: `name` is a number, or draft. Equal documents are one."""

    name: str = field(compare=False)
    digest: str = ""
    document: Mapping[str, Any] = field(default_factory=dict, compare=False)


def named(line: Line, name: str) -> Side:
    """`name`: the number of a version, `live` or `draft`. Raises NotFound."""
    if name == DRAFT:
        return Side(DRAFT, digest(line.draft), line.draft)
    version = line.live
    if name != LIVE:
        plain = name.isascii() and name.isdigit() and len(name) < 9
        version = line.versions.filter(number=int(name)).first() if plain else None
    if version is None:
        raise NotFound("This line has no such version.")
    return Side(str(version.number), version.digest, version.document)


@lru_cache(maxsize=REMEMBERED)
def compared(old: Side, new: Side) -> Difference:
    """Raises Invalid: a draft that cannot be read."""
    return difference(_read(old), _read(new))


def _read(side: Side) -> Any:
    try:
        return read_line(side.document, keep_faulty_rules=True)
    except DocumentError as fault:
        raise Invalid(fault.problems) from fault
