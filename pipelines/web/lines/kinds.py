"""The kinds of work, as the canvas is told of them."""

from __future__ import annotations

from typing import Any

from pipelines.routing.document.kinds import TABLE
from pipelines.routing.document.work.keys import GateOf, StationOf


def kinds() -> list[dict[str, Any]]:
    return [
        {
            "key": kind.key,
            "name": kind.name,
            "about": kind.about,
            "fresh": kind.fresh,
            "alone": kind.alone,
            "stations": [name for name, key in kind.keys.items() if isinstance(key, StationOf)],
            "gates": [name for name, key in kind.keys.items() if isinstance(key, GateOf)],
        }
        for kind in TABLE
    ]
