"""Tasks that ended: how many were accepted, how long they took, and what was reverted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import F

from pipelines.models import LineVersion
from reviews.insights.selection import Groups, InsightsSelection
from reviews.models.statements import ENDED_TASKS


@dataclass(frozen=True, slots=True)
class Changes:
    """`accepted`: completed tasks whose change, if any, was delivered; `median`, `p90`: their seconds from request
    to end; `reverted`: those of them whose branch came back within 30 days to the files it had before."""

    accepted: int = 0
    failed: int = 0
    cancelled: int = 0
    reverted: int = 0
    seconds: tuple[float, float] | None = None

    @property
    def ended(self) -> int:
        return self.accepted + self.failed + self.cancelled

    @property
    def median(self) -> float | None:
        return self.seconds[0] if self.seconds else None

    @property
    def p90(self) -> float | None:
        return self.seconds[1] if self.seconds else None

    def amount_per_accepted_change_or_none(self, amount: float | None) -> float | None:
        """An amount per accepted change; None without one."""
        return amount / self.accepted if amount is not None and self.accepted else None


def change_figures(selection: InsightsSelection) -> Groups[Changes]:
    return selection.fetch_groups(ENDED_TASKS, Changes)


def time_line_and_number_of_each_publish(selection: InsightsSelection) -> list[tuple[datetime, str, int]]:
    """Return when versions of these lines were published, with the name of the line and the number."""
    rows = LineVersion.objects.filter(
        selection.period.dates.condition_on("published_at"), line__in=selection.lines
    ).order_by("published_at", "pk")
    return list(rows.values_list("published_at", "line__name", F("number"))[:1_000])
