"""Holds on the work of a position: one, the others nested under `then`. It goes on when the last one is
released (law §8)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

THEN: Final = "then"
BLOCK: Final = "block"
Wait = dict[str, Any]


def paused_by(escalation: object, trigger: str) -> Wait:
    return {"paused_by": escalation, "trigger": trigger}


def each_of(wait: Mapping[str, Any]) -> list[Wait]:
    """Every hold on a position, in order."""
    return [{key: value for key, value in wait.items() if key != THEN}, *wait.get(THEN, ())]


def joined(waits: Sequence[Wait]) -> Wait:
    if not waits:
        return {}
    first, *others = waits
    return {**first, **({THEN: others} if others else {})}


def convened(notify: Sequence[str], role: str, asked: Collection[str]) -> list[str]:
    """The roles that a review of an escalation asks: those that it notifies, else its own; none of them twice."""
    return [each for each in dict.fromkeys(notify or (role,)) if each not in asked]
