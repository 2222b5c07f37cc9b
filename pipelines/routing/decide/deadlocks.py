"""Detection of deadlocks (law §8, AEEF E22): tasks that wait for each other in a circle, and work that takes
more than twice its expected time. (Branches that contradict each other are detected where they join, see
`branch_joins/context_merge.py`, and escalated.)"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

CIRCULAR, TIMEOUT, CONTRADICTION = "circular_wait", "timeout", "contradiction"
FACTOR: Final = 2
"""How many times the expected time may pass before it is a deadlock."""


def deadlock_limit(expected: float) -> float:
    """Return the seconds after which work counts as a deadlock; exactly that long does not."""
    return FACTOR * expected


def is_past_deadlock_limit(seconds: float, expected: float | None) -> bool:
    """Return whether a state has been unchanged for strictly more than twice the expected time."""
    return expected is not None and seconds > deadlock_limit(expected)


def shortest_wait_cycle_through(waits: Mapping[str, Iterable[str]], start: str) -> tuple[str, ...]:
    """The shortest circle through `start`, beginning with it: each waits for the next, the last for `start`. Empty
    where there is none. `waits`: who waits for whom, by joins, dependencies and questions alike."""
    came: dict[str, str] = {}
    todo = [start]
    # Breadth first, over a list that grows: the first path back is the shortest.
    for who in todo:
        for other in waits.get(who, ()):
            if other == start:
                return _cycle_path(came, start, who)
            if other not in came:
                came[other] = who
                todo.append(other)
    return ()


def _cycle_path(came: Mapping[str, str], start: str, last: str) -> tuple[str, ...]:
    path = [last]
    while path[-1] != start:
        path.append(came[path[-1]])
    return tuple(reversed(path))


SUGGESTIONS: Final = {
    CIRCULAR: "Cancel one of these tasks, or take one dependency away; the others then go on.",
    TIMEOUT: "Look at the log of the last run. Give it what it lacks and let it run again, or cancel the task.",
    CONTRADICTION: "Choose the branch whose values count. Where none does, say what is right as the reason.",
}
