"""Decisions at gates: how many, how they went, how long they were waited for, and what they cost people. Of nobody in
particular."""

from __future__ import annotations

from dataclasses import dataclass

from reviews.insights.selection import Groups, InsightsSelection
from reviews.insights.statements import GATE_DECISIONS

QUICK = 5
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """`sent_back`: rounds of rework that people asked for; `seconds`: in which somebody looked at these reviews;
    `timed`: approvals of which those are known, `quick` of them, within five seconds; `waits`: median and p90 from
    opening to the end."""

    decided: int = 0
    approved: int = 0
    sent_back: int = 0
    seconds: float = 0
    timed: int = 0
    quick: int = 0
    reverted: int = 0
    waits: tuple[float, float] | None = None

    @property
    def hurried_share(self) -> float | None:
        return self.quick / self.timed if self.timed else None

    @property
    def minutes(self) -> float | None:
        """Human minutes; None where none was measured."""
        return self.seconds / 60 if self.seconds else None


def decision_figures(selection: InsightsSelection) -> Groups[Decisions]:
    """Parts are the gates, by line and key."""
    return selection.fetch_groups(GATE_DECISIONS, Decisions, parts=1, quick=QUICK)
