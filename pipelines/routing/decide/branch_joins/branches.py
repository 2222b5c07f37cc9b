"""Input of a join decision: the living tokens of one task, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PASSED, FAILED, BLOCKED = "passed", "failed", "blocked"
WORST_FIRST = (BLOCKED, FAILED, PASSED)
VERDICTS = {PASSED: "pass", FAILED: "fail", BLOCKED: "blocked"}


@dataclass(frozen=True, slots=True)
class Fork:
    """A token with branches: its station, and the targets of the rule that forked it."""

    id: int
    station: str
    to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arrival:
    """A token that left `source` for the join and waits there. `standing`: how its station counts: passed, failed or
    blocked, as the rules saw its outcome. `order`: of arriving."""

    source: str
    standing: str
    order: int
    failure_type: str = ""


@dataclass(frozen=True, slots=True)
class Branch:
    """A living token that is not forked itself. `within`: the forks that it is a branch of, the outermost first;
    `arrival`: if it waits at a join, which is then its station."""

    id: int
    station: str
    within: tuple[Fork, ...] = ()
    arrival: Arrival | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """Values that one station wrote into the context. `order`: when the station was left; two of the same
    order are the same write."""

    order: int
    values: Mapping[str, Any] = field(default_factory=dict)
    station: str = ""
