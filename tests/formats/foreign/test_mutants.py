"""Documents of each system with something wrong in them: a line, or problems with their places; soon, and in bounds."""

from __future__ import annotations

import json
import os
import resource
import time
from collections import Counter
from typing import Any

import pytest

from pipelines.formats import native
from pipelines.formats.foreign import document_import
from pipelines.formats.foreign.document_export import export_document
from pipelines.formats.foreign.import_notes import ImportNotes
from pipelines.formats.foreign.known_systems import OWN, recognise_system
from pipelines.routing.basics.problems import DocumentError
from pipelines.routing.document.line import read_line
from tests.formats.foreign.mutants import BROKEN, RIGHT, documents

MANY = int(os.environ.get("FOREIGN_DOCUMENTS", "25000"))
SLOW = 5.0
"""Seconds of the processor, on a machine that does other work as well."""
GROWTH = 400
"""Megabytes that reading thousands of them may leave behind."""


def read(text: str) -> str:
    """What became of it at the door."""
    try:
        opened = document_import.import_document(text)
    except DocumentError as error:
        assert error.problems and all(str(each.message) for each in error.problems)
        return "refused"
    if not opened.dialect:
        return "not recognised"
    assert native.loads(opened.text) == opened.document, "the text that is shown is the document"
    return lined(opened.document)


def lined(document: dict[str, Any]) -> str:
    try:
        read_line(document)
    except DocumentError as error:
        # It is drawn, and lint names what keeps it from being published.
        assert all(str(each.message) for each in error.problems)
        return "read with findings"
    return "read"


def read_alone(text: str) -> str:
    """By its reader, without the text that the door makes of the line, nor the places of what is wrong in it: those
    cost ten times as much."""
    try:
        given = native.parsed_value(text)
    except DocumentError:
        return "refused"
    system = recognise_system(given).system
    if system is None or system.read is None:
        return "not recognised"
    if system.fault(given):
        return "refused"
    import_notes = ImportNotes()
    document = system.read(given, import_notes)
    return "refused" if import_notes.faults else lined(document)


def memory() -> int:
    """Megabytes that this process had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def tried(
    dialect: str, count: int, seed: int = 0, broken: float = BROKEN, door: int = 50
) -> dict[str, object]:
    """`door`: of so many one goes through the whole door."""
    became, slowest, before, began = Counter[str](), 0.0, memory(), time.process_time()
    for number, text in enumerate(documents(dialect, count, seed, broken)):
        start = time.process_time()
        try:
            became[(read if number % door == 0 else read_alone)(text)] += 1
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"document {number} of {dialect}: {error!r}: {text[:2000]}") from error
        slowest = max(slowest, time.process_time() - start)
    return {
        "dialect": dialect,
        "documents": count,
        **became,
        "seconds": round(time.process_time() - began, 1),
        "slowest": round(slowest, 3),
        "grown_mb": memory() - before,
    }


def test_each_system_has_a_right_document_to_break() -> None:
    assert set(RIGHT) >= {system.key for system in OWN if system.read}


@pytest.mark.parametrize("dialect", RIGHT)
def test_a_right_document_is_read(dialect: str) -> None:
    assert {read(json.dumps(each)) for each in RIGHT[dialect]} <= {"read", "read with findings"}


@pytest.mark.parametrize("dialect", RIGHT)
def test_a_document_with_something_wrong_is_read_or_refused(dialect: str) -> None:
    found = tried(dialect, 40)
    assert sum(found.get(each, 0) for each in ("read", "read with findings")) > 0, found  # type: ignore[misc]


def written_back(dialect: str, count: int, seed: int) -> int:
    """How many could be read: each comes back in its own form with nothing lost but malformed values that nothing
    reads, which are one loss."""
    found = 0
    for text in documents(dialect, count, seed, 0):
        try:
            opened = document_import.import_document(text)
            line = read_line(opened.document)
        except DocumentError:
            continue
        if opened.dialect == dialect:
            losses = export_document(line.to_document(), dialect).losses
            assert [str(loss) for loss in losses if loss.path != "extra"] == [], text
            found += 1
    return found


@pytest.mark.parametrize("dialect", RIGHT)
def test_what_could_be_read_comes_back(dialect: str) -> None:
    assert written_back(dialect, 24, 1)


# States that AEEF does not know stand in the order in which transitions name them, which is another when it comes back.
@pytest.mark.soak
@pytest.mark.parametrize("dialect", [each for each in RIGHT if each != "aeef"])
def test_much_of_what_could_be_read_comes_back(dialect: str) -> None:
    assert written_back(dialect, 1_000, 2)


@pytest.mark.soak
@pytest.mark.parametrize("dialect", RIGHT)
def test_thousands_with_something_wrong_are_read_or_refused_in_bounds(dialect: str) -> None:
    for found in (tried(dialect, MANY // 10), tried(dialect, MANY, 1, BROKEN / 10, 500)):
        print(json.dumps(found))
        assert float(str(found["slowest"])) < SLOW
        assert int(str(found["grown_mb"])) < GROWTH
