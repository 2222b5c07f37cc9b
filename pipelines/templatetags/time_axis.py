"""Bars over a stretch of time, drawn as SVG on the server: `{% load time_axis %}`. All places are in percent of the
width, so that a drawing fits any. static/ts/pages/timeline.ts lets grow what goes on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Protocol

from django import template
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from pipelines.templatetags.gateline import duration

register = template.Library()

NOTHING = mark_safe("")
MAX_TICKS = 7
ROOM, SHORTEST_SECONDS = 1.1, 5.0
"""An axis that reaches to the present ends at the next power of this, so that it stays as it is while bars grow: what
is drawn is the same until the present has reached its end."""
SECONDS, DAY = 60, 86_400
STEPS = (
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200,
    *(days * DAY for days in (1, 2, 5, 7, 14, 30, 60, 90, 180, 365)),
)  # fmt: skip
"""Seconds between two ticks, of which the first is taken that leaves few enough."""


class Bar(Protocol):
    """Time in one state, as `queries.time_bars.TimeBar` has it."""

    @property
    def tone(self) -> str: ...
    @property
    def since(self) -> datetime: ...
    @property
    def until(self) -> datetime | None: ...
    @property
    def label(self) -> str: ...
    @property
    def lane(self) -> int: ...


class AxisMark(Protocol):
    """Vote or decision at one instant, as `queries.visit_rows.DecisionMark` has it."""

    @property
    def at(self) -> datetime: ...
    @property
    def tone(self) -> str: ...
    @property
    def label(self) -> str: ...


EDGE_PERCENT = 15
"""Half of the widest words, in the narrowest column that they stand in."""
GLYPHS = {
    "approved": "M-3 0 -1 2.5 3.5 -2.5",
    "rejected": "M-2.5 -2.5 2.5 2.5M2.5 -2.5-2.5 2.5",
    "returned": "M-1 -3.5-3.5 -1-1 1.5M-3.5 -1H1a2.25 2.25 0 0 1 0 4.5H-1",
}
"""Strokes in the circle of a mark, by its tone: shape tells them apart, not colour alone."""


@dataclass(frozen=True)
class TimeAxis:
    """Stretch of time from the left edge to the right one. `now`: None where nothing goes on any more."""

    begin: datetime
    end: datetime
    now: datetime | None = None

    @classmethod
    def axis_from_begin_to_now(cls, begin: datetime, now: datetime) -> TimeAxis:
        seconds = max((now - begin).total_seconds(), SHORTEST_SECONDS)
        return cls(begin, begin + timedelta(seconds=ROOM ** (math.floor(math.log(seconds, ROOM)) + 1)), now)

    @property
    def seconds(self) -> float:
        return max((self.end - self.begin).total_seconds(), 1.0)

    def percent(self, at: datetime) -> float:
        """Return the place of an instant, at the edge where it lies beyond."""
        share = (at - self.begin).total_seconds() / self.seconds
        return round(100 * min(max(share, 0.0), 1.0), 3)

    @cached_property
    def ticks(self) -> Sequence[tuple[float, str]]:
        """Places with their words, from the first round time on."""
        step = next((step for step in STEPS if self.seconds / step <= MAX_TICKS), STEPS[-1])
        local = timezone.localtime(self.begin)
        midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
        passed = (local - midnight).total_seconds()
        tick = midnight + timedelta(seconds=(passed // step + 1) * step)
        ticks = []
        while tick < self.end:
            ticks.append((self.percent(tick), self._time_or_day_text_of_tick(tick, step)))
            tick += timedelta(seconds=step)
        return ticks

    def _time_or_day_text_of_tick(self, tick: datetime, step: int) -> str:
        tick = timezone.localtime(tick)
        if step >= DAY or (tick.hour, tick.minute, tick.second) == (0, 0, 0):
            return date_format(tick, "j M")
        return date_format(tick, "H:i:s" if step < SECONDS else "H:i")


def _tick_and_now_lines_html(axis: TimeAxis) -> SafeString:
    lines = format_html_join(
        "",
        '<line class="gantt-tick" x1="{0}%" x2="{0}%" y2="100%"/>',
        ((percent,) for percent, _words in axis.ticks),
    )
    if axis.now is None:
        return lines
    return format_html(
        '{0}<line class="gantt-now" x1="{1}%" x2="{1}%" y2="100%"/>', lines, axis.percent(axis.now)
    )


def _begin_and_end_attributes_while_growing(axis: TimeAxis) -> SafeString:
    """Return from when to when the drawing is, for what grows."""
    if axis.now is None:
        return NOTHING
    return format_html(' data-begin="{}" data-end="{}"', axis.begin.isoformat(), axis.end.isoformat())


@register.simple_tag
def time_bars(
    axis: TimeAxis,
    bars: Iterable[Bar],
    lanes: int = 1,
    cursor: datetime | None = None,
    marks: Iterable[AxisMark] = (),
) -> SafeString:
    """Return the bars of one row. The row says in words what they show. `cursor`: an instant that is marked."""
    height = round(100 / lanes, 3)
    rects = format_html_join(
        "", "{}", ((_bar_html(axis, bar, height),) for bar in bars if _is_partly_within(axis, bar))
    )
    return format_html(
        '<svg class="gantt-bars gantt-lanes-{}" aria-hidden="true" focusable="false"{}>{}{}{}{}</svg>',
        min(lanes, 4), _begin_and_end_attributes_while_growing(axis), _tick_and_now_lines_html(axis), rects,
        _marks_within_axis_html(axis, marks),
        _cursor_html_or_empty(axis, cursor),
    )  # fmt: skip


def _is_partly_within(axis: TimeAxis, bar: Bar) -> bool:
    return bar.since < axis.end and (bar.until is None or bar.until > axis.begin)


def _bar_html(axis: TimeAxis, bar: Bar, height: float) -> SafeString:
    until = bar.until or axis.now or axis.end
    left = axis.percent(bar.since)
    goes_on = bar.until is None and axis.now is not None
    grows = format_html(' data-grows="{}"', bar.since.isoformat()) if goes_on else NOTHING
    # The row says for how long what goes on has gone on
    words = bar.tone if goes_on else f"{bar.tone}, {duration(until - bar.since)}"
    title = ": ".join(filter(None, (bar.label, words)))
    return format_html(
        '<rect class="gantt-bar gantt-bar-{}" x="{}%" y="{}%" height="{}%" rx="3" width="{}%"{}>'
        "<title>{}</title></rect>",
        bar.tone, left, round(bar.lane * height, 3), height, round(axis.percent(until) - left, 3), grows, title,
    )  # fmt: skip


def _marks_within_axis_html(axis: TimeAxis, marks: Iterable[AxisMark]) -> SafeString:
    return format_html_join(
        "",
        '<svg class="gantt-mark gantt-mark-{}" x="{}%" y="50%"><title>{}, {}</title>'
        '<circle r="7"/><path d="{}"/></svg>',
        (
            (
                mark.tone,
                axis.percent(mark.at),
                mark.label,
                date_format(timezone.localtime(mark.at), "j M, H:i"),
                GLYPHS[mark.tone],
            )
            for mark in marks
            if axis.begin <= mark.at <= axis.end
        ),
    )


def _cursor_html_or_empty(axis: TimeAxis, cursor: datetime | None) -> SafeString:
    if cursor is None:
        return NOTHING
    percent = axis.percent(cursor)
    return format_html(
        '<rect class="gantt-later" x="{0}%" width="{1}%" height="100%"/>'
        '<line class="gantt-cursor" x1="{0}%" x2="{0}%" y2="100%"/>',
        percent, round(100 - percent, 3),
    )  # fmt: skip


LEGEND = (
    ("queued", "queued"),
    ("running", "running"),
    ("waiting", "waiting"),
    ("blocked", "blocked"),
    ("failed", "failed"),
    ("stuck", "stuck"),
)


@register.inclusion_tag("tasks/board/time_legend.html")
def time_legend() -> dict[str, Any]:
    return {"legend": LEGEND}


@register.simple_tag
def time_swatch(tone: str) -> SafeString:
    return format_html(
        '<svg class="gantt-swatch" aria-hidden="true" focusable="false">'
        '<rect class="gantt-bar gantt-bar-{}" width="100%" height="100%" rx="3"/></svg>',
        tone,
    )


def _word_side_class(percent: float) -> str:
    """Return the class of the words of a tick: beside it near an edge, which would cut them, else centred on it."""
    if percent < EDGE_PERCENT:
        return " gantt-word-after"
    return " gantt-word-before" if percent > 100 - EDGE_PERCENT else ""


@register.simple_tag
def time_ticks(axis: TimeAxis) -> SafeString:
    """Return the head of the rows: round times, and where the present is."""
    words = format_html_join(
        "",
        '<text class="gantt-word{}{}" x="{}%" y="70%">{}</text>',
        (
            (_word_side_class(percent), " hide-phone" if number % 2 else "", percent, words)
            for number, (percent, words) in enumerate(axis.ticks)
        ),
    )
    return format_html(
        '<svg class="gantt-bars gantt-head-ticks" aria-hidden="true" focusable="false"{}>{}{}</svg>',
        _begin_and_end_attributes_while_growing(axis), _tick_and_now_lines_html(axis), words,
    )  # fmt: skip
