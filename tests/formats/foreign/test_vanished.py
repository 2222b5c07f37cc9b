"""No value of a document of another system vanishes: each is read, kept, refused, or named as a loss."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from pipelines.formats.foreign.import_notes import ImportNotes
from pipelines.formats.foreign.known_systems import recognise_system
from tests.formats.foreign.mutants import RIGHT

ODD: Final = (2.5, "7", ["x"], {"k": "v"})
"""Values that hardly any place takes."""
HARMLESS: Final = {
    # Only `false` lets a gate pass without a person.
    ("alp", "requiresApproval"),
    # What does nothing says nothing.
    ("contenox", "prompt_template"),
}
Place = tuple[str | int, ...]


def read(document: Any) -> tuple[str, list[tuple[str, str]]] | None:
    """The line and what is otherwise; None where it is refused."""
    system = recognise_system(document).system
    if system is None or system.read is None or system.fault(document):
        return None
    import_notes = ImportNotes()
    line = system.read(document, import_notes)
    losses = sorted((loss.path, str(loss.message)) for loss in import_notes.losses)
    return None if import_notes.faults else (json.dumps(line, default=str), losses)


def places(document: Any, before: Place = ()) -> Iterator[Place]:
    """Each member of an object, at any depth."""
    members = document.items() if isinstance(document, dict) else enumerate(document)
    for step, value in members:
        if isinstance(step, str):
            yield (*before, step)
        if isinstance(value, dict | list):
            yield from places(value, (*before, step))


def holder_in_copy(document: Any, place: Place) -> tuple[Any, Any]:
    """A copy, and in it the object that holds the place."""
    made = copy.deepcopy(document)
    holder = made
    for step in place[:-1]:
        holder = holder[step]
    return made, holder


@pytest.mark.parametrize("dialect", RIGHT)
def test_an_odd_value_is_read_kept_refused_or_named(dialect: str) -> None:
    vanished = []
    for document in RIGHT[dialect]:
        for place in places(document):
            without, holder = holder_in_copy(document, place)
            del holder[place[-1]]
            absent = read(without)
            for value in ODD:
                made, holder = holder_in_copy(document, place)
                holder[place[-1]] = value
                if absent is not None and read(made) == absent and (dialect, place[-1]) not in HARMLESS:
                    vanished.append((place, value))
    assert vanished == []
