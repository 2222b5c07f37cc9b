"""Sample that the record of a gate supports: the smallest share that keeps both limits (law §15)."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import Final

RATES: Final = (2, 5, 10, 20)
MAX_UNSEEN = 1.0
"""Bad changes that may pass unseen in 30 days, by the bound."""
MIN_QUESTIONS = 10
"""Changes that are still asked about in 30 days, so that it shows when work gets worse."""
DOUBT = 0.05
"""Probability that there are more bad changes than the bound says."""
MAX_BAD = 50
"""With more of them no share is small enough, and nothing is computed."""


@dataclass(frozen=True, slots=True)
class GateEvidence:
    """Decisions of RECENT_DAYS; `bad`: changes that people refused or remarked on, or that were reverted within 30
    days; `pace`: decisions in 30 days."""

    decisions: int
    bad: int
    pace: float

    @property
    def highest_share(self) -> float:
        """Highest share of bad changes that this record leaves credible."""
        return min(1.0, highest_credible_count(self.bad) / self.decisions) if self.decisions else 1.0

    def unseen(self, one_in: int) -> float:
        """Return how many bad changes pass unseen in 30 days at most, if one in so many is asked about."""
        return self.pace * (1 - 1 / one_in) * self.highest_share

    def questions(self, one_in: int) -> float:
        return self.pace / one_in

    def objection(self, one_in: int) -> str:
        """Return which limit this share breaks; "" where it keeps both."""
        if self.unseen(one_in) > MAX_UNSEEN:
            return f"More than {MAX_UNSEEN:.0f} could pass unseen"
        if self.questions(one_in) < MIN_QUESTIONS:
            return f"Asks fewer than {MIN_QUESTIONS} times in 30 days"
        return ""

    @property
    def recommended(self) -> int | None:
        """The smallest share, as one in so many; None where none keeps the limits."""
        return max((one_in for one_in in RATES if not self.objection(one_in)), default=None)


def highest_credible_count(count: int) -> float:
    """Return the highest expected number of events of which so many or fewer happen with the probability DOUBT: 3.0
    where none was seen (the rule of three), 4.7 where one was."""
    if count > MAX_BAD:
        return float("inf")
    low, high = float(count), count + 4 * (count + 4) ** 0.5
    for _step in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _probability_of_at_most(count, middle) > DOUBT else (low, middle)
    return high


def _probability_of_at_most(number: int, expected: float) -> float:
    """Return the Poisson probability."""
    term = total = exp(-expected)
    for count in range(1, number + 1):
        term *= expected / count
        total += term
    return total
