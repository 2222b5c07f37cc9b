"""Figures of health and what is too much (AEEF E28). Every threshold is strict: at it all is well still."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pipelines.routing.basics.wording import percent_text

QUEUE, CYCLE, DEADLOCKS, ESCALATED, GATE = (
    "queue_depth",
    "cycle_time",
    "deadlocks",
    "escalation_rate",
    "gate_failure_rate",
)
THRESHOLDS: Final[dict[str, float]] = {QUEUE: 50, CYCLE: 2, DEADLOCKS: 1, ESCALATED: 0.10, GATE: 0.30}
"""Work items queued; times the baseline; per week; share of work items; share of the visits of a single gate."""

TODO: Final[dict[str, str]] = {
    QUEUE: "Assess capacity: start another runner, or let fewer tasks in.",
    CYCLE: "Look for the stations that are the bottleneck.",
    DEADLOCKS: "Review the contracts of the agents.",
    ESCALATED: "Review the trust levels and the abilities of the agents.",
    GATE: "Look for the root cause, and retrain the agents or change their prompts.",
}

NAMES: Final[dict[str, str]] = {
    QUEUE: "Tasks in the queue",
    CYCLE: "Average duration, compared with the previous 7 days",
    DEADLOCKS: "Deadlocks in a week",
    ESCALATED: "Tasks that were escalated",
    GATE: "Sent back or rejected at {gate} ({line})",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """`value` None: too little is known to tell. `of`: which gate; `seconds`: of cycle times, now and the baseline."""

    key: str
    value: float | None
    of: str = ""
    seconds: tuple[float, float] | None = None

    @property
    def threshold(self) -> float:
        return THRESHOLDS[self.key]

    @property
    def is_alert(self) -> bool:
        return self.value is not None and self.value > self.threshold

    @property
    def todo(self) -> str:
        return TODO[self.key] if self.is_alert else ""


def figure_name(key: str, line: str = "", gate: str = "") -> str:
    """Name a figure. `line` and `gate`: names, of the refusals of one gate."""
    return NAMES[key].format(line=line, gate=gate)


def format_figure(key: str, value: float) -> str:
    """Write a figure as `12`, `2.5 ×` or `30%`."""
    if key in (ESCALATED, GATE):
        return percent_text(value * 100, 0)
    return f"{value:.1f} ×" if key == CYCLE else f"{value:.0f}"


def share_or_none(part: int, total: int) -> float | None:
    return part / total if total else None


def cycle_time_figure(recent_seconds: float | None, baseline_seconds: float | None) -> Figure:
    """Average seconds from start to end, of late and before."""
    if not recent_seconds or not baseline_seconds:
        return Figure(CYCLE, None)
    return Figure(CYCLE, recent_seconds / baseline_seconds, seconds=(recent_seconds, baseline_seconds))
