"""A system whose documents are known: how they are recognised, read and written. `known_systems` lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.formats.foreign.import_notes import ImportNotes, Json
from pipelines.routing.basics.problems import Problem
from pipelines.routing.basics.wording import Wording as _

Sign = Callable[[Any], str | None]
"""Answers the path of the part that gives the document away."""


@dataclass(frozen=True)
class ForeignSystem:
    """`key`: of a system that is written also the preset of its lines. `name`, `what`: for people.

    `fault`: why a document of it is no whole one. `read`: None where its documents are no lines. `write`: None where
    none are written; `as_yaml`: how."""

    key: str
    name: str
    what: str
    signs: tuple[Sign, ...]
    read: Callable[[Any, ImportNotes], Json] | None = None
    fault: Callable[[Any], Problem | None] = lambda _document: None
    write: Callable[[Json], Any] | None = None
    as_yaml: bool = False


def fault_without_lists(name: str, *parts: str) -> Callable[[Any], Problem | None]:
    """Return a check that refuses a document of the system `name` with none of these lists: it is only a part
    of one."""

    def fault_or_none(document: Any) -> Problem | None:
        if isinstance(document, Mapping) and any(part in document for part in parts):
            return None
        hint = _("import the whole document: it has the list “%(part)s”", part=parts[0])
        return Problem("", _("this is a part of a document of %(system)s", system=name), hint)

    return fault_or_none


def sign_of_object_with_keys(*keys: str) -> Sign:
    """An object with all of these keys."""
    return lambda document: (
        keys[0] if isinstance(document, Mapping) and all(key in document for key in keys) else None
    )


def sign_of_list_member(part: str, *keys: str) -> Sign:
    """An object with a list `part` of which an object has any of these keys; with "" the list is the whole document."""

    def path_of_sign_or_none(document: Any) -> str | None:
        matches = (
            (index, key) for index, member in indexed_members(document, part) for key in keys if key in member
        )
        return next((f"{part}[{index}].{key}" for index, key in matches), None)

    return path_of_sign_or_none


def sign_of_listed_object(*signs: Sign) -> Sign:
    """A list with an object that has any of these signs."""

    def path_of_sign_or_none(document: Any) -> str | None:
        matches = ((index, sign(member)) for index, member in indexed_members(document, "") for sign in signs)
        return next((f"[{index}].{path}" for index, path in matches if path is not None), None)

    return path_of_sign_or_none


def indexed_members(document: Any, part: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    entries = document.get(part) if part and isinstance(document, Mapping) else None if part else document
    if isinstance(entries, list):
        yield from ((index, member) for index, member in enumerate(entries) if isinstance(member, Mapping))
