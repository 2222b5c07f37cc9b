"""Where the stations of an earlier version are in the version that a task is pinned to now (docs/versions.md).

A working token is migrated at its next move: its job is judged by the version it started under, and the targets of
that judgement are read here. `Job.mapping` says which stations have other names now; a station that it does not name
is itself. Without a migration it is empty."""

from __future__ import annotations

from typing import Any

from pipelines.models import Job, Task
from pipelines.routing.document.line import Line

GONE = "StationGone"
"""The named error of a move to a station that the task's version does not have."""


def station(line: Line, job: Job, key: str) -> str | None:
    """The station in `line`, the task's version; None where it has none."""
    key = job.mapping.get(key, key)
    return key if key in line.stations_by_key else None


def of(line: Line, job: Job, targets: tuple[str, ...]) -> tuple[tuple[str, ...], list[str]]:
    """Where the targets of a move are, each once, and those that are gone. Two branches that are one station by now
    are one branch."""
    places = {target: station(line, job, target) for target in targets}
    gone = [target for target, place in places.items() if place is None]
    return tuple(dict.fromkeys(place for place in places.values() if place)), gone


def said(targets: tuple[str, ...], lands: tuple[str, ...]) -> dict[str, Any]:
    """For the event: what was decided, where it is not what was done."""
    return {} if targets == lands else {"decided": list(targets)}


def lost(task: Task, gone: list[str]) -> str:
    return (
        f"The next station ({', '.join(gone)}) is not part of version {task.pinned.number}, to which this task was"
        " migrated."
    )
