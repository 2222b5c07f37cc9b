"""Geometry of bars as plain numbers; gateline.py offers it to the templates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class BarPart:
    """Part of a bar, in per cent of its width."""

    start: str
    width: str
    tone: str


def bar_parts(value: float, maximum: float, tone: str = "active") -> list[BarPart]:
    """Pieces of an elapsed bar; past `maximum` it splits at the expected time, the rest is late."""
    value, maximum = max(float(value or 0), 0.0), max(float(maximum or 0), 0.0)
    if maximum == 0:
        return []
    if value <= maximum:
        return [BarPart("0", f"{100 * value / maximum:.1f}", tone)]
    split = 100 * maximum / value
    return [
        # A gap of one per cent stands at the expected time.
        BarPart("0", f"{max(split - 1, 0):.1f}", "neutral"),
        BarPart(f"{split:.1f}", f"{100 - split:.1f}", "attention"),
    ]


BAR, BAR_GAP, BARS_HEIGHT = 5, 2, 20


@dataclass(frozen=True)
class DayBar:
    """Bar of one day in px; an empty day has a stroke of 1."""

    number: int
    x: int
    y: float
    width: int
    height: float
    empty: bool


@dataclass(frozen=True)
class DayBars:
    parts: Sequence[DayBar]
    width: int
    height: int
    sum: int


def day_bars(days: Sequence[int], most: int) -> DayBars:
    """Bars for counts, of which the highest would be `most`; what is not nothing is at least 3 high."""
    parts = []
    for place, number in enumerate(days):
        # What is not nothing has to be seen beside a high one
        height = max(3.0, round(BARS_HEIGHT * number / most, 1)) if number else 1.0
        parts.append(
            DayBar(number, place * (BAR + BAR_GAP), BARS_HEIGHT - height, BAR, height, empty=not number)
        )
    return DayBars(parts, len(days) * (BAR + BAR_GAP) - BAR_GAP, BARS_HEIGHT, sum(days))
