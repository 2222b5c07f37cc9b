"""Stations to which a person may send an escalated task, as far as the rules of the line allow."""

from __future__ import annotations

from pipelines.routing.document.model import ParsedLine


def escalation_targets(line: ParsedLine, station: str) -> tuple[str, ...]:
    """Stations to which a person may send what is escalated at this one: targets of its rules that no gate guards. A
    gate is never passed by hand, so from a station with a gate of its own only those that stand before it."""
    parsed_station = line.stations_by_key.get(station)
    if parsed_station is None:
        return ()
    targets = [to for rule in parsed_station.rules if not rule.gates and not rule.fault for to in rule.to]
    known = [to for to in dict.fromkeys(targets) if to in line.stations_by_key]
    if parsed_station.gate is None:
        return tuple(known)
    # Forward from here leads through its gate, which nobody passes by hand
    return tuple(to for to in known if line.index_of_station(to) <= line.index_of_station(station))
