"""First-pass approval of each gate, and there of each station and agent. No average over gates: one that asks strictly
and one that asks loosely have none in common."""

from __future__ import annotations

from dataclasses import dataclass

from reviews.insights.selection import Groups, InsightsSelection
from reviews.insights.statements import FIRST_DECISIONS


@dataclass(frozen=True, slots=True)
class FirstDecisions:
    """Decisions of a first round, and those of them that approved; the same of the period before."""

    count: int = 0
    approved: int = 0
    count_before: int = 0
    approved_before: int = 0

    @property
    def share(self) -> float | None:
        return self.approved / self.count if self.count else None

    @property
    def share_before(self) -> float | None:
        return self.approved_before / self.count_before if self.count_before else None


def first_decisions(selection: InsightsSelection) -> Groups[FirstDecisions]:
    """Parts are (line, gate, station, agent); station and agent None for all of the gate together."""
    return selection.fetch_groups(FIRST_DECISIONS, FirstDecisions, parts=3)
