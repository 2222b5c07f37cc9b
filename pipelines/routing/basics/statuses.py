"""A task's status from its tokens (law §1)."""

from __future__ import annotations

from collections.abc import Iterable

# The first present decides; then the worst of the ends.
LIVING = ("stuck", "blocked", "held", "awaiting_review", "evaluating", "running", "queued")
ENDS = ("failed", "cancelled", "completed")
ORDER = {status: place for place, status in enumerate((*LIVING, *ENDS))}


def status_of(statuses: Iterable[str]) -> str:
    """Of the positions of one task; forked tokens are none and must be left out."""
    return min(statuses, key=ORDER.__getitem__)
