"""Sets of exact numbers as unions of intervals: closed under meet and complement, emptiness always decided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

from pipelines.routing.analysis.satisfiability.effort import spend_effort

Number = int | Decimal

MAX_EXPONENT = 400
"""Beyond it no number between two others is computed; the set is then not sampled."""


@dataclass(slots=True, unsafe_hash=True)
class Interval:
    """None is infinity. A closed end belongs to the interval."""

    low: Number | None = None
    high: Number | None = None
    low_closed: bool = True
    high_closed: bool = True

    @property
    def is_empty(self) -> bool:
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and not (self.low_closed and self.high_closed))

    def contains(self, number: Number) -> bool:
        above = self.low is None or self.low < number or (self.low_closed and self.low == number)
        below = self.high is None or number < self.high or (self.high_closed and self.high == number)
        return above and below

    def intersection(self, other: Interval) -> Interval:
        low, low_closed = _higher_low_bound_and_is_closed(self, other)
        high, high_closed = _lower_high_bound_and_is_closed(self, other)
        return Interval(low, high, low_closed, high_closed)


def _higher_low_bound_and_is_closed(a: Interval, b: Interval) -> tuple[Number | None, bool]:
    if a.low is None or b.low is None:
        return (b.low, b.low_closed) if a.low is None else (a.low, a.low_closed)
    if a.low == b.low:
        return a.low, a.low_closed and b.low_closed
    return (a.low, a.low_closed) if a.low > b.low else (b.low, b.low_closed)


def _lower_high_bound_and_is_closed(a: Interval, b: Interval) -> tuple[Number | None, bool]:
    if a.high is None or b.high is None:
        return (b.high, b.high_closed) if a.high is None else (a.high, a.high_closed)
    if a.high == b.high:
        return a.high, a.high_closed and b.high_closed
    return (a.high, a.high_closed) if a.high < b.high else (b.high, b.high_closed)


@dataclass(slots=True, unsafe_hash=True)
class NumberSet:
    """A union of intervals, none of them empty."""

    intervals: tuple[Interval, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.intervals

    def contains(self, number: Number) -> bool:
        return any(interval.contains(number) for interval in self.intervals)

    def intersection(self, other: NumberSet) -> NumberSet:
        if self is ANY or self is other:
            return other
        if other is ANY or not self.intervals:
            return self
        if not other.intervals or self == other:
            return other
        spend_effort(3 * len(self.intervals) * len(other.intervals))
        overlaps = (a.intersection(b) for a in self.intervals for b in other.intervals)
        return NumberSet(tuple(interval for interval in overlaps if not interval.is_empty))

    def complement(self) -> NumberSet:
        rest = ANY
        for interval in self.intervals:
            rest = rest.intersection(_complement_of_interval(interval))
        return rest

    def samples(self) -> Iterator[Number]:
        """Numbers of the set, the simplest first; none only where none could be computed."""
        for interval in self.intervals:
            yield from (number for number in _candidate_numbers(interval) if interval.contains(number))


def _complement_of_interval(interval: Interval) -> NumberSet:
    below = () if interval.low is None else (Interval(None, interval.low, True, not interval.low_closed),)
    above = () if interval.high is None else (Interval(interval.high, None, not interval.high_closed, True),)
    return NumberSet(below + above)


def _candidate_numbers(interval: Interval) -> Iterator[Number]:
    low, high = interval.low, interval.high
    yield from (0, 1, -1)
    if low is not None:
        yield from (low, low + 1) if type(low) is int else (low,)
    if high is not None:
        yield from (high, high - 1) if type(high) is int else (high,)
    if any(_is_huge(end) for end in (low, high)):
        return
    if low is not None:
        yield from (int(low), int(low) + 1)
    if high is not None:
        yield from (int(high), int(high) - 1)
    if low is not None and high is not None:
        yield _middle_number(low, high)


def _is_huge(end: Number | None) -> bool:
    return end is not None and abs(Decimal(end).adjusted()) > MAX_EXPONENT


def _middle_number(low: Number, high: Number) -> Decimal:
    with localcontext() as context:
        # 1e400 + 1e-400 has 801 digits; rounded, the middle could fall outside of the interval.
        context.prec = 4 * MAX_EXPONENT
        return (Decimal(low) + Decimal(high)) / 2


ANY = NumberSet((Interval(),))
NONE = NumberSet()


def single_number_set(number: Any) -> NumberSet:
    return NumberSet((Interval(number, number),))


def finite_set(values: Iterable[Number]) -> NumberSet:
    """Return the set of exactly these numbers, with nothing between them."""
    return NumberSet(tuple(Interval(number, number) for number in dict.fromkeys(values)))


def comparison_set(op: str, number: Any) -> NumberSet:
    """The numbers for which `gt`, `gte`, `lt` or `lte` of `number` is true."""
    # `gte` and `lte` include the number itself.
    closed = op.endswith("e")
    return NumberSet(
        (Interval(number, None, closed) if op[0] == "g" else Interval(None, number, True, closed),)
    )


def interval_set(low: Any, high: Any) -> NumberSet:
    interval = Interval(low, high)
    return NONE if interval.is_empty else NumberSet((interval,))
