"""Mapping of the stations of an earlier version to the version a task is pinned to now (docs/versions.md). A
working token is migrated at its next move: its job is judged by the version it started under, and the
targets are mapped here. `Job.mapping` names the stations with other names now; all others keep theirs. It
is empty without a migration."""

from __future__ import annotations

from typing import Any

from pipelines.models import Job, Task
from pipelines.routing.document.line import ParsedLine

GONE = "StationGone"
"""The error of a move to a station that the task's version does not have."""


def mapped_station_key(line: ParsedLine, job: Job, key: str) -> str | None:
    """The station's key in `line`, the task's version; None if it no longer exists."""
    key = job.mapping.get(key, key)
    return key if key in line.stations_by_key else None


def mapped_targets(line: ParsedLine, job: Job, targets: tuple[str, ...]) -> tuple[tuple[str, ...], list[str]]:
    """Return the targets of a move by their keys in the current version, each once, and the targets that no
    longer

    exist.
    """
    places = {target: mapped_station_key(line, job, target) for target in targets}
    gone = [target for target, place in places.items() if place is None]
    return tuple(dict.fromkeys(place for place in places.values() if place)), gone


def decided_targets_data(targets: tuple[str, ...], lands: tuple[str, ...]) -> dict[str, Any]:
    """Return, for the event, the targets as they were decided, if they differ from where the task went."""
    return {} if targets == lands else {"decided": list(targets)}


def lost_station_message(task: Task, gone: list[str]) -> str:
    return (
        f"The next station ({', '.join(gone)}) is not part of version {task.pinned.number}, to which this task was"
        " migrated."
    )
