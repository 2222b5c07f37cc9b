"""Marks on the drawing of a line: what stands over its stations, gates and ends. Where they stand is the drawing's
(static/editor/shown), which is not laid out again when these change."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

TAKEN, NOT = "taken", "not"
START = "@start"


@dataclass(slots=True)
class PlaceMark:
    """`state`: taken, not, active, attention, danger or ok. `words` stand over it; with `since`, an instant, they go on
    in the browser, by `ticking`, which has the place of the time. `brief` stays where there is no room for them;
    "{about}" in it is the time since then, by its first unit."""

    state: str = NOT
    words: str = ""
    since: str = ""
    ticking: str = ""
    brief: str = ""


@dataclass(slots=True)
class TaskPath:
    """`places`: of stations and ends by key. `gates`: by the rule on which they stand. `ways`: of edges, by the names
    that drawings have for them (the id of a rule, or the key of a station and `ONWARD`)."""

    places: dict[str, PlaceMark] = field(default_factory=dict)
    gates: dict[str, PlaceMark] = field(default_factory=dict)
    ways: dict[str, str] = field(default_factory=lambda: {START: TAKEN})

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def mark_paused(path: TaskPath, stations: Iterable[str]) -> None:
    """Say over the stations that they are paused, before what else there is to say."""
    for key in stations:
        mark = path.places.setdefault(key, PlaceMark("attention"))
        # A failure stays the first thing to be seen
        mark.state = "attention" if mark.state != "danger" else mark.state
        mark.words = f"paused · {mark.words}" if mark.words else "paused"
        mark.ticking = f"paused · {mark.ticking}" if mark.ticking else ""
        mark.brief = mark.brief or "paused"


def path_marking_paused_stations_or_empty(stations: Iterable[str]) -> str:
    """Return the path, for a drawing on which nothing else is marked; empty where no station is paused."""
    path = TaskPath(ways={})
    mark_paused(path, stations)
    return json.dumps(path.to_dict()) if path.places else ""
