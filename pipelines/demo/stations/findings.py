"""Findings of the lint and security stations, counted by severity, the worst first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .text import count

SEVERITIES = ("high", "medium", "low")
MOST = 20_000  # findings in a report


@dataclass(frozen=True)
class Finding:
    """`file` is relative to the repository; `line` counts from 1, 0 for the whole file."""

    severity: str
    code: str
    file: str
    line: int
    message: str


class Findings:
    """The worst `MOST` are kept, in order of severity, file and line; `numbers` counts all of them."""

    def __init__(self, found: Iterable[Finding]) -> None:
        self.numbers = dict.fromkeys(SEVERITIES, 0)
        kept: dict[str, list[Finding]] = {severity: [] for severity in SEVERITIES}
        for finding in found:
            self.numbers[finding.severity] += 1
            if len(kept[finding.severity]) < MOST:
                kept[finding.severity].append(finding)
        ordered = [f for s in SEVERITIES for f in sorted(kept[s], key=lambda f: (f.file, f.line, f.code))]
        self.worst = ordered[:MOST]

    @property
    def total(self) -> int:
        return sum(self.numbers.values())

    @property
    def cut(self) -> str:
        """What the report leaves out, in a sentence; "" where it holds everything."""
        return f"The report holds the worst {MOST:,} of {self.total:,} findings." if self.total > MOST else ""

    def words(self) -> str:
        """“3 findings: 1 high, 0 medium, 2 low”."""
        numbers = ", ".join(f"{self.numbers[severity]} {severity}" for severity in SEVERITIES)
        return f"{count(self.total, 'finding')}: {numbers}"


def acceptance(triage: str, high: int) -> dict[str, Any]:
    """What the output says about a person's word from triage.

    `triage` is spent by reporting `none`: an acceptance counts once, for the station that the person sent the task
    back to, and not for the next one that finds something.
    """
    return {"accepted": triage == "accept" and high > 0, "triage": "none"}
