"""Who works at a station, in the words of its document."""

from __future__ import annotations

from pipelines.routing.document.line import Station


def actor_of(station: Station | None) -> tuple[str, str]:
    """Kind (which icon) and name: the program of a command, the kind of work of the others."""
    if station is None:
        return "system", ""
    if station.kind == "command":
        argv = station.work.get("argv") or [""]
        return "command", str(argv[0]).rsplit("/", 1)[-1]
    if station.by_people:
        return "person", ""
    if station.kind == "wait":
        return "timer", ""
    return ("agent" if station.kind in ("chat", "tools", "route") else "system"), station.kind
