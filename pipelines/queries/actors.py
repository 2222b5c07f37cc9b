"""Actor that works at a station, in the words of its document."""

from __future__ import annotations

from pipelines.routing.document.kinds import KINDS, is_done_by_people
from pipelines.routing.document.line import Station


def station_actor_kind_and_name(station: Station | None) -> tuple[str, str]:
    """Kind (which icon) and name: the program of a command, the kind of work of most others."""
    if station is None:
        return "system", ""
    if is_done_by_people(station):
        return "person", ""
    kind = KINDS.get(station.kind)
    if kind is None:
        return "system", station.kind
    return kind.actor, kind.signed(station.work) if kind.signed else kind.key
