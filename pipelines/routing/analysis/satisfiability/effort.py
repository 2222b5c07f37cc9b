"""Effort that an analysis may spend: counted, not timed, so that it needs no clock.

Each question has bounds of its own (`solver.MAX_BRANCHES`, `automata.MAX_PRODUCT`); a document may ask
very many of them. Whoever analyses something from outside says how much they may cost together. Beyond it
every further question is Unknown. What was worked out before is remembered and costs less the second time:
then more is known, never less that was right.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from pipelines.routing.analysis.satisfiability.search_failures import Unknown
from pipelines.routing.basics.bounds import counting_steps

STEP = 4
"""Of one step of a decision that is tried, in units."""


class EffortExhausted(Unknown):
    """The work that was allowed for all questions together is done."""

    def __init__(self) -> None:
        super().__init__("it would take more work than the bounds allow")


@dataclass
class EffortMeter:
    """`left`: units of about a microsecond."""

    left: int

    def spend(self, units: int) -> None:
        self.left -= units
        if self.left < 0:
            raise EffortExhausted


_METER: ContextVar[EffortMeter | None] = ContextVar("meter", default=None)


@contextmanager
def limiting_effort(units: int) -> Iterator[EffortMeter]:
    """Within it, questions raise Exhausted once they have cost `units` together."""
    meter = EffortMeter(units)
    token = _METER.set(meter)
    try:
        # Decisions that are tried count their steps themselves (`basics.bounds`).
        with counting_steps(lambda steps: meter.spend(STEP * steps)):
            yield meter
    finally:
        _METER.reset(token)


def spend_effort(units: int) -> None:
    """Raises Exhausted where a bound was set and is reached."""
    meter = _METER.get()
    if meter is not None:
        meter.spend(units)
