"""Costs that runs reported, and what agents and models cost for each accepted change."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from pipelines.queries.usage import Spending
from reviews.insights.selection import Groups, InsightsSelection
from reviews.insights.statements import RUN_COSTS


@dataclass(frozen=True, slots=True)
class Costs:
    """Runs that ended in the period. Of an agent and model also `accepted`, the accepted changes in which it ran,
    and `seconds`, the human time at gates of the tasks in which it ran."""

    cost: Decimal | None = None
    priced: int = 0
    runs: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    accepted: int = 0
    seconds: float = 0

    @property
    def spending(self) -> Spending:
        return Spending(self.cost, self.priced, self.runs, int(self.tokens_in), int(self.tokens_out))

    @property
    def amount(self) -> float | None:
        return None if self.cost is None else float(self.cost)


def cost_figures(selection: InsightsSelection) -> Groups[Costs]:
    """Parts are agent and model, of all lines together."""
    return selection.fetch_groups(RUN_COSTS, Costs, parts=2)
