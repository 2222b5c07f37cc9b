"""Results and verdicts as the rules of a station may see them (law §2, §5)."""

from __future__ import annotations

from typing import Final

Statuses = frozenset[tuple[str, str]]
"""Pairs of result and verdict."""

BLOCKED: Final = ("blocked", "blocked")
EXHAUSTED: Final = ("blocked", "fail")
"""A blocked outcome whose `rework` signals are exhausted: the signal comes before step 4 (law §5)."""

RECORDED: Final[Statuses] = frozenset(
    (result, verdict) for result in ("success", "failure", "cancelled") for verdict in ("pass", "fail")
)
PASSED: Final[Statuses] = frozenset([("success", "pass")])
FAILED: Final[Statuses] = RECORDED - PASSED
STANDINGS: Final[dict[str, Statuses]] = {
    "passed": PASSED,
    "failed": FAILED,
    "blocked": frozenset([BLOCKED, EXHAUSTED]),
}
FORCED_FAILURE: Final[Statuses] = frozenset([("failure", "fail")])
