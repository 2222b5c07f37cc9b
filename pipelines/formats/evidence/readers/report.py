"""Report of a reader: counts that become facts, and rows that people read. Every size is bounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

MOST_BYTES: Final = 16 * 1024 * 1024
MOST_ROWS: Final = 500
SEVERITIES: Final = ("critical", "high", "medium", "low")
# Characters
MOST_TEXT: Final = 1000
# Levels of nesting, of JSON and of XML
DEPTH: Final = 60


class UnreadableReport(Exception):
    """The file is not what its kind says, or too much of it."""


@dataclass(frozen=True)
class ToolFinding:
    """`severity`: critical, high, medium or low. `line` counts from 1, 0 where only the file is known."""

    severity: str
    message: str
    rule: str = ""
    path: str = ""
    line: int = 0
    tool: str = ""


@dataclass(frozen=True)
class CaseProblem:
    """A test that failed, broke or was skipped: `kind` failed, error or skipped."""

    kind: str
    suite: str
    name: str
    message: str = ""
    path: str = ""
    line: int = 0


@dataclass(frozen=True)
class SuiteCount:
    name: str
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.errors + self.skipped


@dataclass(frozen=True)
class ReadReport:
    """`facts`: {group: {key: number}} of law §13. `header` and `rows` are of a table; `text` of Markdown.
    `left`: how many findings, tests, rows or bytes of text the report has beyond these; `hidden_columns`: likewise."""

    kind: str
    facts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    suites: Sequence[SuiteCount] = ()
    tests: Sequence[CaseProblem] = ()
    findings: Sequence[ToolFinding] = ()
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    text: str = ""
    left: int = 0
    hidden_columns: int = 0


def shortened_text(value: object, most: int = MOST_TEXT) -> str:
    """A text of a report; an ellipsis ends one that is longer."""
    text = str(value if value is not None else "")
    return text if len(text) <= most else f"{text[: most - 1]}…"
