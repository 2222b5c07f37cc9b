"""A system whose documents are known: how they are recognised, read and written. `systems` is the table of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.formats.foreign.carrier import Carrier, Json
from pipelines.routing.basics.problems import Problem
from pipelines.routing.basics.wording import Wording as _

Sign = Callable[[Any], str | None]
"""Answers the path of the part that gives the document away."""


@dataclass(frozen=True)
class ForeignSystem:
    """`key`: also the preset of its lines. `name`, `what`: the system and a document of it, for people.

    `fault`: why a document of it is no whole one. `read`: None where its documents are no lines. `write`: None where
    none are written; `as_yaml`: how."""

    key: str
    name: str
    what: str
    signs: tuple[Sign, ...]
    read: Callable[[Any, Carrier], Json] | None = None
    fault: Callable[[Any], Problem | None] = lambda _given: None
    write: Callable[[Json], Any] | None = None
    as_yaml: bool = False


def lacking(name: str, *parts: str) -> Callable[[Any], Problem | None]:
    """Refuse what has none of the lists of which one makes a document of the system `name` whole."""

    def fault(given: Any) -> Problem | None:
        if isinstance(given, Mapping) and any(part in given for part in parts):
            return None
        hint = _("import the whole document: it has the list “%(part)s”", part=parts[0])
        return Problem("", _("this is a part of a document of %(system)s", system=name), hint)

    return fault


def has(*keys: str) -> Sign:
    """An object with all of these keys."""
    return lambda given: keys[0] if isinstance(given, Mapping) and all(key in given for key in keys) else None


def among(part: str, *keys: str) -> Sign:
    """An object with a list `part` of which an object has any of these keys; with "" the list is the whole document."""

    def sign(given: Any) -> str | None:
        found = ((index, key) for index, member in members(given, part) for key in keys if key in member)
        return next((f"{part}[{index}].{key}" for index, key in found), None)

    return sign


def listed(*signs: Sign) -> Sign:
    """A list with an object that has any of these signs."""

    def sign(given: Any) -> str | None:
        found = ((index, sign(member)) for index, member in members(given, "") for sign in signs)
        return next((f"[{index}].{path}" for index, path in found if path is not None), None)

    return sign


def members(given: Any, part: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    held = given.get(part) if part and isinstance(given, Mapping) else None if part else given
    if isinstance(held, list):
        yield from ((index, member) for index, member in enumerate(held) if isinstance(member, Mapping))
