"""The kinds of work, as the canvas is told of them."""

from __future__ import annotations

from typing import Any

from pipelines.routing.document.kinds import TABLE
from pipelines.routing.document.work.keys import GateKey, StationKey


def work_kind_fields() -> list[dict[str, Any]]:
    return [
        {
            "key": kind.key,
            "name": kind.name,
            "about": kind.about,
            "fresh": kind.fresh,
            "alone": kind.can_run_alone,
            "stations": [name for name, key in kind.keys.items() if isinstance(key, StationKey)],
            "gates": [name for name, key in kind.keys.items() if isinstance(key, GateKey)],
        }
        for kind in TABLE
    ]
