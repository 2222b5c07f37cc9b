"""Causes for which a gate that asked about a sample asks about all tasks again (law §15)."""

from __future__ import annotations

from typing import Final

CAUSES: Final = {
    "reverted": "%s passed without being asked about, and was reverted",
    "contradicted": "%s claimed what the facts contradict",
    "refused": "%s was drawn, and was not approved",
}


def fallback_cause(cause: str, task: str) -> str:
    """Return the cause in words. `task`: the name of the task that was it."""
    return CAUSES[cause] % task
