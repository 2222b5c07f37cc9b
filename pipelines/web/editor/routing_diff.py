"""Routing difference after a change of a draft: which outcomes now go elsewhere, with one example for each
region that is decided otherwise.

Only stations that the change touched are compared, with as much work as a save may take; whatever that
leaves open is reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.errors import Invalid
from pipelines.lines.project_lint import read_draft
from pipelines.routing.analysis.difference.change import Change
from pipelines.routing.analysis.difference.routing_effects import LinePair
from pipelines.routing.analysis.difference.station_changes import station_changes_and_cost
from pipelines.routing.basics.wording import people_text
from pipelines.routing.document.line import ParsedLine, Station
from pipelines.routing.sentences import differences
from pipelines.routing.sentences.values import shortened_unquoted_json

WORK = 250_000
"""Units of `satisfiability.effort` for one save, each about a microsecond."""
MOST = 20
"""Examples in one answer."""


def routing_changes_or_none(before: Mapping[str, Any], new: ParsedLine | None) -> dict[str, Any] | None:
    """Return which outcomes are routed differently by the new draft: `changes`, each with station, example, old
    and new decision; `open`: regions that could not be decided. None if nothing changed or one of the two is no
    line."""
    try:
        old = read_draft(before)
    except Invalid:
        return None
    if not isinstance(old, ParsedLine) or new is None:
        return None
    pair = LinePair(old, new)
    route_changes = list(_bounded_changes(pair))
    known = [_change_data(pair, change) for change in route_changes if change.sample is not None]
    if not route_changes:
        return None
    return {
        "changes": known[:MOST],
        "more": max(0, len(known) - MOST),
        "open": len(route_changes) - len(known),
    }


def _bounded_changes(pair: LinePair) -> Iterator[Change]:
    left = WORK
    for key in _possibly_changed_station_keys(pair):
        more, cost = station_changes_and_cost(pair, key, max(left, 0))
        left -= cost
        yield from more


def _possibly_changed_station_keys(pair: LinePair) -> list[str]:
    """Keys of stations that both have, and that may decide otherwise."""
    old, new = pair.old, pair.new
    shared = [station.key for station in new.stations if station.key in old.stations_by_key]
    around = (old.policy, old.gates, old.ends, old.flags), (new.policy, new.gates, new.ends, new.flags)
    # These are read at every station.
    if around[0] != around[1]:
        return shared
    return [key for key in shared if _decision_inputs(old, key) != _decision_inputs(new, key)]


def _decision_inputs(line: ParsedLine, key: str) -> tuple[Any, ...]:
    """Return the parts of the line that a decision at a station reads."""
    station = line.station(key)
    following = line.next_station_or_none(key)
    kinds = [
        _target_state(line, target) for rule in station.rules for target in (*rule.to, rule.exhausted_to)
    ]
    # The policy may lead to the next station, so another order can decide otherwise.
    return _station_inputs(station), following.key if following else None, kinds


def _station_inputs(station: Station) -> tuple[Any, ...]:
    sources = tuple(rule.source for rule in station.rules)
    limits = (station.limits.max_visits, station.limits.max_retries)
    return station.rules, sources, station.gate, limits, station.kind, station.result_document, station.join


def _target_state(line: ParsedLine, target: str | None) -> Any:
    """Return whether the target exists, and how often it may be entered."""
    station = line.stations_by_key.get(target or "")
    return station.limits.max_visits if station else target in line.ends_by_key


def _change_data(pair: LinePair, change: Change) -> dict[str, Any]:
    assert change.sample is not None
    past, now = differences.past_and_present_text_of_routes(pair, change.sample)
    situation = change.sample.situation
    facts = situation.get("facts")
    example = shortened_unquoted_json(situation["outcome"]) + (
        f" {shortened_unquoted_json(facts)}" if facts else ""
    )
    return {
        "station": change.station,
        "rule": change.new,
        "example": example,
        "old": people_text(past),
        "new": people_text(now),
    }
