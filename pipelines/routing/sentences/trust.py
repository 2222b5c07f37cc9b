"""Changes of an agent's trust level, in words."""

from __future__ import annotations

from typing import Final

LOWERED_CAUSES: Final = {
    "reverted": "the change of %s was reverted",
    "contradicted": "%s claimed what the facts contradict",
    "refused": "%s was drawn for a sample, and was not approved",
}


def lowered_trust_sentence(station: str, level: int, cause: str, task: str) -> str:
    """Say why an agent fell back from `level` at a station. `task`: the name of the task that was it."""
    return f"Level {level} to {level - 1} at {station}: {LOWERED_CAUSES[cause] % task}."
