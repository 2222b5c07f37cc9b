"""pytest's JUnit report, read into numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

MOST_BYTES = 128 << 20


@dataclass
class Suite:
    """`problems` are `(kind, test, message, text)`, kind failed or error; `collection` holds the texts of the errors
    that kept a test file from being read at all."""

    tests: int = 0
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    problems: list[tuple[str, str, str, str]] = field(default_factory=list)
    collection: list[str] = field(default_factory=list)


def read(path: Path) -> Suite | None:
    """The report at `path`; None where there is none, or one that was cut off."""
    if not path.is_file() or path.stat().st_size > MOST_BYTES:
        return None
    suite = Suite()
    try:
        for case in cases(path):
            add(suite, case)
    except ElementTree.ParseError:
        return None
    return suite


def cases(path: Path) -> Iterator[ElementTree.Element]:
    for _event, element in ElementTree.iterparse(path):
        if element.tag == "testcase":
            yield element
            element.clear()


def add(suite: Suite, case: ElementTree.Element) -> None:
    """Count one test. A test that failed and then broke in its tear-down counts once, as failed."""
    suite.tests += 1
    outcomes = {child.tag: child for child in reversed(case)}
    name = "::".join(part for part in (case.get("classname"), case.get("name")) if part)
    for tag, kind in (("failure", "failed"), ("error", "error")):
        if (found := outcomes.get(tag)) is not None:
            message, text = found.get("message") or "", found.text or ""
            suite.problems.append((kind, name, message, text))
            if message.startswith("collection failure"):
                suite.collection.append(text)
            suite.failed += kind == "failed"
            suite.errors += kind == "error"
            return
    if "skipped" in outcomes:
        suite.skipped += 1
    else:
        suite.passed += 1
