"""Holds on the work of a position: one, the others nested under `then`. It goes on when the last one is
released (law §8)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from pipelines.routing.decide.effects import ENDS

DEPENDS: Final = "depends_on"
LOST: Final = "failed"
THEN: Final = "then"
BLOCK: Final = "block"
PAUSED: Final = "paused"
Wait = dict[str, Any]


def pause_hold(escalation: object, trigger: str) -> Wait:
    return {"paused_by": escalation, "trigger": trigger}


def dependency_hold(others: Mapping[str, str]) -> Wait:
    """The `wait` of a task that depends on these, {name: state}, none completed. A dependency that failed or was
    cancelled never completes and is named: a person has to decide."""
    # None of them is completed, so an end is a failure or a cancellation.
    lost = [name for name, status in others.items() if status in ENDS]
    return {DEPENDS: list(others), **({LOST: lost} if lost else {})}


def scope_hold(pause: int, by: str, reason: str, since: str) -> Wait:
    """The `wait` of work under a pause, which names who paused it."""
    return {PAUSED: pause, "by": by, "since": since, **({"reason": reason} if reason else {})}


def is_pause(wait: Wait) -> bool:
    return PAUSED in wait


def is_dependency(wait: Wait) -> bool:
    return DEPENDS in wait


def flatten_holds(wait: Mapping[str, Any]) -> list[Wait]:
    """Every hold on a position, in order."""
    return [{key: value for key, value in wait.items() if key != THEN}, *wait.get(THEN, ())]


def nest_holds(waits: Sequence[Wait]) -> Wait:
    if not waits:
        return {}
    first, *others = waits
    return {**first, **({THEN: others} if others else {})}


def review_roles(notify: Sequence[str], role: str, consulted: Collection[str]) -> list[str]:
    """The roles that a review of an escalation asks: those that it notifies, else its own; none of them twice."""
    return [candidate for candidate in dict.fromkeys(notify or (role,)) if candidate not in consulted]
