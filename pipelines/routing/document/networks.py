"""Network access of the programs of a station: `work.network`, which is none, open or a list of hosts (house
§5).

A document that is written today without the key means none, and publishing writes that into the version.
So a version in which a station that runs programs lacks the key was published before the key existed, and
means what it meant then: open. No version ever changes its meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pipelines.routing.document.jumps import ALL
from pipelines.routing.document.kinds import kind_executes
from pipelines.routing.document.model import SILENT_ALLOWS_ALL
from pipelines.routing.document.work.network import NONE, OPEN


def station_network(work: Mapping[str, Any]) -> str:
    """Return the network of a station of a version: none or open. With a list of hosts (`egress_entries_or_none`) it is
    none except for these."""
    return OPEN if work.get("network", OPEN) == OPEN else NONE


def omits_network(work: Mapping[str, Any]) -> bool:
    return "network" not in work


def document_to_publish(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document as it is published: a station that does not name its network gets `none`. The
    document may be invalid as a line."""
    return _document_with_network(document, NONE)


def published_document(document: Mapping[str, Any], revision: int) -> dict[str, Any]:
    """Return the document of a version for display, export and drafts: with its network written out, and with
    the jumps that it allows where its revision lets silence mean something else than the newest does."""
    stated = _document_with_network(document, OPEN)
    silent = "jumps" not in document and document.get("preset") != "flux"
    return {**stated, "jumps": ALL} if silent and revision <= SILENT_ALLOWS_ALL else stated


def _document_with_network(document: Mapping[str, Any], network: str) -> dict[str, Any]:
    stations = document.get("stations")
    if not isinstance(stations, list):
        return dict(document)
    with_tools = {
        gate["key"] for gate in _object_members(document.get("gates")) if "tool" in gate and _is_key(gate)
    }
    stated = [
        _station_with_network(raw_station, network, lambda station: _runs_programs(station, with_tools))
        for raw_station in stations
    ]
    return {**document, "stations": stated}


def _station_with_network(station: Any, network: str, runs: Callable[[Mapping[str, Any]], bool]) -> Any:
    work = station.get("work") if isinstance(station, Mapping) else None
    if not isinstance(work, Mapping) or not omits_network(work) or not runs(station):
        return station
    return {**station, "work": {**work, "network": network}}


def _runs_programs(station: Mapping[str, Any], with_tools: set[str]) -> bool:
    """Return whether the station runs programs: its work, a hook that its rules ask (whatever the kind of
    work), or the tool of a gate."""
    rules = list(_object_members(station.get("rules")))
    gates = [station.get("gate"), *(key for rule in rules for key in _list_or_empty(rule.get("gates")))]
    return (
        kind_executes(str(station["work"].get("kind")))
        or any(isinstance(gate, str) and gate in with_tools for gate in gates)
        or any(_asks_a_hook(rule.get("when")) for rule in rules)
    )


def _asks_a_hook(condition: Any) -> bool:
    # Without recursion: the document may be invalid, and nested to any depth.
    waiting = [condition]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            if "hook" in one:
                return True
            waiting += [value for key, value in one.items() if key in ("all", "any", "not")]
        elif isinstance(one, list):
            waiting += one
    return False


def _object_members(value: Any) -> Iterator[Mapping[str, Any]]:
    return (member for member in _list_or_empty(value) if isinstance(member, Mapping))


def _list_or_empty(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_key(gate: Mapping[str, Any]) -> bool:
    return isinstance(gate.get("key"), str)
