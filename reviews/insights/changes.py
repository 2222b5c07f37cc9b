"""Tasks that ended: how many were accepted, how long they took, and what was reverted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from pipelines.models import LineVersion
from reviews.insights.selection import Groups, InsightsSelection
from reviews.insights.statements import ENDED_TASKS


@dataclass(frozen=True, slots=True)
class Changes:
    """`accepted`: completed tasks whose change, if any, was delivered; `seconds`: median and p90 of them from request
    to end; `reverted`: those of them whose branch came back within 30 days to the files it had before; `delivered`:
    those that landed on a branch, of which alone a revert can be known; `old`: those that landed 30 days ago or
    earlier, `old_reverted` of them."""

    accepted: int = 0
    failed: int = 0
    cancelled: int = 0
    reverted: int = 0
    delivered: int = 0
    old: int = 0
    old_reverted: int = 0
    seconds: tuple[float, float] | None = None

    @property
    def ended_count(self) -> int:
        return self.accepted + self.failed + self.cancelled

    @property
    def reverted_share(self) -> float | None:
        """Share of the reverted among those that are old enough; None where none is."""
        return self.old_reverted / self.old if self.old else None

    @property
    def median_seconds(self) -> float | None:
        return self.seconds[0] if self.seconds else None

    @property
    def p90_seconds(self) -> float | None:
        return self.seconds[1] if self.seconds else None

    def amount_per_accepted_change_or_none(self, amount: float | None) -> float | None:
        """An amount per accepted change; None without one."""
        return amount / self.accepted if amount is not None and self.accepted else None


def change_figures(selection: InsightsSelection) -> Groups[Changes]:
    return selection.fetch_groups(ENDED_TASKS, Changes)


class PublishedVersion(NamedTuple):
    """Version with the moment of its publish."""

    published_at: datetime
    line_name: str
    number: int


def published_versions(selection: InsightsSelection) -> list[PublishedVersion]:
    """Return the versions of these lines that were published in the period, the earliest first, at most 1,000."""
    rows = LineVersion.objects.filter(
        selection.period.dates.condition_on("published_at"), line__in=selection.lines
    ).order_by("published_at", "pk")
    return [
        PublishedVersion(*row) for row in rows.values_list("published_at", "line__name", "number")[:1_000]
    ]
