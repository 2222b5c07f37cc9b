"""Geometry of bars and edges as plain numbers and SVG path data; gateline.py offers it to the templates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """One piece of a bar, in per cent of its width."""

    start: str
    width: str
    tone: str


def bar_parts(value: float, maximum: float, tone: str = "active") -> list[Part]:
    """Pieces of an elapsed bar; past `maximum` it splits at the expected time, the rest is late."""
    value, maximum = max(float(value or 0), 0.0), max(float(maximum or 0), 0.0)
    if maximum == 0:
        return []
    if value <= maximum:
        return [Part("0", f"{100 * value / maximum:.1f}", tone)]
    split = 100 * maximum / value
    return [
        Part("0", f"{max(split - 1, 0):.1f}", "neutral"),
        Part(f"{split:.1f}", f"{100 - split:.1f}", "attention"),
    ]


BAR, BAR_GAP, BARS_HEIGHT = 5, 2, 20


@dataclass(frozen=True)
class DayBar:
    """One day's bar in px; an empty day has a stroke of 1."""

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
        height = max(3.0, round(BARS_HEIGHT * number / most, 1)) if number else 1.0
        parts.append(
            DayBar(number, place * (BAR + BAR_GAP), BARS_HEIGHT - height, BAR, height, empty=not number)
        )
    return DayBars(parts, len(days) * (BAR + BAR_GAP) - BAR_GAP, BARS_HEIGHT, sum(days))


def rounded_path(points: Sequence[Sequence[float]], radius: float = 8) -> str:
    """SVG path data through the points, straight pieces with rounded corners: the shape of every edge."""
    first, *rest = [(float(x), float(y)) for x, y in points]
    pieces = [f"M{first[0]:g} {first[1]:g}"]
    before = first
    for index, corner in enumerate(rest):
        if index == len(rest) - 1:
            pieces.append(f"L{corner[0]:g} {corner[1]:g}")
            break
        enter, leave = _towards(corner, before, radius), _towards(corner, rest[index + 1], radius)
        pieces.append(f"L{enter[0]:g} {enter[1]:g}Q{corner[0]:g} {corner[1]:g} {leave[0]:g} {leave[1]:g}")
        before = corner
    return "".join(pieces)


def arrow_head(points: Sequence[Sequence[float]], length: float = 8) -> str:
    """Path data of the triangle at the last point, looking the way the last piece goes."""
    tip_x, tip_y = (float(each) for each in points[-1])
    back_x, back_y = _towards((tip_x, tip_y), (float(points[-2][0]), float(points[-2][1])), length)
    across_x, across_y = (tip_y - back_y) * 0.42, (back_x - tip_x) * 0.42
    return (
        f"M{tip_x:g} {tip_y:g}L{back_x + across_x:g} {back_y + across_y:g}"
        f"L{back_x - across_x:g} {back_y - across_y:g}z"
    )


def _towards(start: tuple[float, float], end: tuple[float, float], distance: float) -> tuple[float, float]:
    """The point `distance` from start on the way to end, at most half way: two corners never overlap."""
    x, y = end[0] - start[0], end[1] - start[1]
    length = (x * x + y * y) ** 0.5 or 1.0
    part = min(distance, length / 2) / length
    return (round(start[0] + x * part, 2), round(start[1] + y * part, 2))
