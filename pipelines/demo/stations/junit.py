"""pytest's JUnit report, read into numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from xml.etree import ElementTree

MOST_BYTES = 16 << 20
EMPTY = b"<testsuites/>"


@dataclass(frozen=True)
class Problem:
    """A test that failed (`kind` failed) or could not be run (error)."""

    kind: str
    test: str
    message: str
    text: str


@dataclass
class Suite:
    """`collection` holds the texts of the errors that kept a test file from being read at all."""

    tests: int = 0
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    problems: list[Problem] = field(default_factory=list)
    collection: list[str] = field(default_factory=list)


def read(path: Path, folder: str) -> Suite | None:
    """The report at `path`; None where there is none, or one that was cut off. `folder` is taken out of its texts."""
    if not path.is_file() or path.stat().st_size > MOST_BYTES:
        return None
    with path.open("rb") as file:
        return parsed(file, folder)


def parsed(file: BinaryIO, folder: str) -> Suite | None:
    suite = Suite()
    try:
        for case in cases(file):
            add(suite, case, folder)
    except ElementTree.ParseError:
        return None
    return suite


def cases(file: BinaryIO) -> Iterator[ElementTree.Element]:
    for _event, element in ElementTree.iterparse(file):
        if element.tag == "testcase":
            yield element
            element.clear()


def add(suite: Suite, case: ElementTree.Element, folder: str) -> None:
    """Count one test. A test that failed and then broke in its tear-down counts once, as failed."""
    suite.tests += 1
    outcomes = {child.tag: child for child in reversed(case)}
    for tag, kind in (("failure", "failed"), ("error", "error")):
        if (found := outcomes.get(tag)) is not None:
            problem = read_problem(kind, case, found, folder)
            suite.problems.append(problem)
            if (found.get("message") or "").startswith("collection failure"):
                suite.collection.append(problem.text)
            suite.failed += kind == "failed"
            suite.errors += kind == "error"
            return
    if "skipped" in outcomes:
        suite.skipped += 1
    else:
        suite.passed += 1


def read_problem(kind: str, case: ElementTree.Element, found: ElementTree.Element, folder: str) -> Problem:
    """The message is the line that says what went wrong (pytest marks it with an E), else the report's own."""
    name = "::".join(part for part in (case.get("classname"), case.get("name")) if part)
    text = (found.text or "").replace(folder, "")
    marked = [line[2:].strip() for line in text.splitlines() if line.startswith("E ")]
    return Problem(kind, name, marked[0] if marked else (found.get("message") or text), text)
