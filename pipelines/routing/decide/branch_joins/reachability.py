"""Reachability of stations: every path in a version, whatever its conditions are (law §7).

Sound and conservative: by rules, by what an exhausted budget names, by the policy, by votes at gates and
by `@origin`, and by the jumps that the line allows. Moves by hand are not included; they may lead
anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import wraps
from typing import TypeVar, TypeVarTuple

from pipelines.routing.document.algebra import Always
from pipelines.routing.document.gates import Gate
from pipelines.routing.document.model import SILENT_ALLOWS_ALL, ParsedLine
from pipelines.routing.document.rules import BLOCKED, ORIGIN, Rule
from pipelines.routing.document.stations import Station

CHOOSES = "reviewer_chooses"
NextStations = Mapping[str, frozenset[str]]
Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


def cached_per_line(
    find: Callable[[ParsedLine, *Arguments], Result],
) -> Callable[[ParsedLine, *Arguments], Result]:
    """Cache the result of a function by line and arguments; a line never changes, and thousands of tasks run
    under a published one."""

    @wraps(find)
    def cached_result(line: ParsedLine, *arguments: *Arguments) -> Result:
        key = (find, *arguments)
        if key not in line.cache:
            line.cache[key] = find(line, *arguments)
        result: Result = line.cache[key]
        return result

    return cached_result


@cached_per_line
def next_stations_by_station(line: ParsedLine) -> NextStations:
    """The stations that each station may lead to next."""
    return _close_over_origins(
        line, lambda station: [*_drawn_targets(line, station, {}), *_undrawn_targets(line, station)]
    )


def routes_replacing_forks(line: ParsedLine, replacement_by_fork: Mapping[str, str]) -> NextStations:
    """The same where some forks, by the id of their rule, count as leading to one station."""
    if not replacement_by_fork:
        return next_stations_by_station(line)
    # A token arrives at a join from an awaited station, never from the fork, so no path back leads there.
    back = {key: _source_stations(next_stations_by_station(line), key) for key in _returning_stations(line)}
    return {
        station.key: frozenset(
            {
                *_drawn_targets(line, station, replacement_by_fork),
                *_undrawn_targets(line, station),
                *back.get(station.key, ()),
            }
        )
        for station in line.stations
    }


@cached_per_line
def drawn_next_stations(line: ParsedLine) -> NextStations:
    """Only the paths that somebody drew: rules, and the order of stations without rules."""
    return _close_over_origins(line, lambda station: _drawn_targets(line, station, {}))


def _returning_stations(line: ParsedLine) -> list[str]:
    return [station.key for station in line.stations if any(rule.to == (ORIGIN,) for rule in station.rules)]


def _source_stations(after: Mapping[str, Collection[str]], key: str) -> set[str]:
    return {source for source, targets in after.items() if key in targets and source != key}


def _close_over_origins(line: ParsedLine, onward: Callable[[Station], Iterable[str]]) -> NextStations:
    after = {station.key: set(onward(station)) for station in line.stations}
    returning = _returning_stations(line)
    grown = bool(returning)
    while grown:
        # A path back counts too: it may be the origin of another one.
        grown = False
        for key in returning:
            origins = _source_stations(after, key)
            grown = grown or not origins <= after[key]
            after[key] |= origins
    return {key: frozenset(targets) for key, targets in after.items()}


def reachable_stations(after: NextStations, begin: Iterable[str], avoiding: Collection[str] = ()) -> set[str]:
    """Every station to which these lead, themselves included, without passing through one that is avoided."""
    visited: set[str] = set()
    todo = [key for key in begin if key not in avoiding]
    while todo:
        key = todo.pop()
        if key not in visited:
            visited.add(key)
            todo += [target for target in after.get(key, ()) if target not in avoiding]
    return visited


def _drawn_targets(
    line: ParsedLine, station: Station, replacement_by_fork: Mapping[str, str]
) -> Iterator[str]:
    for rule in station.rules:
        yield from _rule_targets(line, rule, replacement_by_fork)
    if not station.rules and line.policy.no_rules == "advance":
        yield from _next_station_key(line, station)


def _undrawn_targets(line: ParsedLine, station: Station) -> Iterator[str]:
    """Yield the targets of votes at gates, and of the policy where no rule takes everything."""
    gates = [station.gate, *(key for rule in station.rules for key in rule.gates)]
    for key in gates:
        if key is not None and key in line.gates_by_key:
            yield from _gate_targets(line, line.gate(key))
    takes_all = any(rule.fault is None and isinstance(rule.when, Always) for rule in station.rules)
    # A gate that demands rework leaves its rule out, and a failed compose goes by `on_failure`.
    left_out = any(rule.gates or rule.compose for rule in station.rules) or not line.policy.failure_rules
    if line.policy.on_failure.startswith("station:") and (left_out or not takes_all):
        yield line.policy.on_failure.removeprefix("station:")
    if station.rules and line.policy.no_match == "default" and not takes_all:
        yield from _next_station_key(line, station)
    # Under earlier revisions a branch that only a jump could bring counted as failed, and versions keep their meaning.
    if line.revision > SILENT_ALLOWS_ALL:
        yield from (place for place in line.jump_targets if place in line.stations_by_key)


def _next_station_key(line: ParsedLine, station: Station) -> Iterator[str]:
    after = line.next_station_or_none(station.key)
    if after is not None:
        yield after.key


def _rule_targets(line: ParsedLine, rule: Rule, replacement_by_fork: Mapping[str, str]) -> Iterator[str]:
    # A faulty rule makes the task stuck when it is reached, and leads nowhere.
    if rule.fault is not None:
        return
    if rule.id in replacement_by_fork:
        yield replacement_by_fork[rule.id]
    else:
        yield from (to for to in rule.to if to in line.stations_by_key and to not in (ORIGIN, BLOCKED))
    if rule.exhausted_to in line.stations_by_key:
        yield str(rule.exhausted_to)


def _gate_targets(line: ParsedLine, gate: Gate) -> Iterator[str]:
    if "reject" not in gate.offers or gate.mode == "skip":
        return
    knob = gate.on_reject or line.policy.on_reject
    # The rejection may name any station (law §4).
    if knob == CHOOSES:
        yield from line.stations_by_key
    elif knob.startswith("route:"):
        yield knob.removeprefix("route:")
