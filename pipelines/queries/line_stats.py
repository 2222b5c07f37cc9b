"""Statistics of a line over the last days: four figures by one statement that reads a bounded number of tasks."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.queries.medians import DAYS
from pipelines.queries.statements import LINE_FIGURES, MAX_TASKS
from pipelines.queries.usage import dollars_text


@dataclass(frozen=True, slots=True)
class LineStats:
    """`ended`: so many are counted, `more` says whether there are others. Of what is counted, how many completed,
    and of those the median time in seconds and the median cost (None where none had a price)."""

    ended: int
    more: bool
    completed: int
    seconds: float | None
    cost: Decimal | None

    @property
    def cost_text(self) -> str:
        return dollars_text(self.cost) if self.cost is not None else ""


def line_stats(line_id: int) -> LineStats:
    [(ended, completed, seconds, cost)] = fetch(
        LINE_FIGURES, {"line": line_id, "days": DAYS, "most": MAX_TASKS}
    )
    return LineStats(
        # The statement reads one task more than it counts.
        min(ended, MAX_TASKS),
        ended > MAX_TASKS,
        completed,
        None if seconds is None else float(seconds),
        cost,
    )
