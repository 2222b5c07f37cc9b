"""The analysis of one station as a value, remembered by everything that it depends on.

It is made from an excerpt of the line: the station, its gates, and of the stations and ends that it can lead to only
what a decision reads. So what was not in the excerpt cannot have changed the answer, and after an edit of one
station only that one is analysed again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from pipelines.routing.analysis.satisfiability.effort import limiting_effort
from pipelines.routing.analysis.satisfiability.first_match_analysis import FirstMatchAnalysis
from pipelines.routing.analysis.satisfiability.liveness import DEAD, SHADOWED, Liveness, Remainder, Shadow
from pipelines.routing.analysis.satisfiability.statuses import STANDINGS
from pipelines.routing.document.ends import END
from pipelines.routing.document.gates import GATE
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import Rule
from pipelines.routing.document.stations import LIMITS, STATION, Join, Station

MAX_STATION = 5_000_000
"""Units of work for one station: about a second."""
REMEMBERED = 2_000
"""Stations per process."""


@dataclass(frozen=True, slots=True)
class StationAnalysis:
    """`shadowing`: for each rule the earlier ones that take a part of it. `cost`: units of work that it took.

    `readable`: the rules above the first faulty one. `constants`: those whose condition is always true or false.
    """

    readable: tuple[Rule, ...]
    standings: tuple[Liveness, ...]
    shadowing: dict[str, tuple[Shadow, ...]]
    constants: dict[str, bool]
    rests: dict[str, Remainder]
    cost: int

    def shadows(self, rule: Rule) -> tuple[Shadow, ...]:
        return self.shadowing.get(rule.id, ())

    def constant_truth_of_rule(self, rule: Rule) -> bool | None:
        return self.constants.get(rule.id)

    def outcomes_no_rule_takes(self, outcome_state: str) -> Remainder | None:
        return self.rests.get(outcome_state)


class RememberedAnalysis:
    """An analysis that is compared and hashed by identity: it is cached, so the same excerpt of a line always
    has the same one."""

    def __init__(self, study: StationAnalysis) -> None:
        self.study = study

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RememberedAnalysis) and other.study is self.study

    def __hash__(self) -> int:
        return id(self.study)


def analyse_station(
    line: ParsedLine, station: Station, units: int, excerpts: Excerpts | None = None
) -> StationAnalysis:
    """Return the analysis of one station. `units`: the work that is left for the whole line; what costs more is
    unknown. `excerpts`: of this line, where several stations are analysed."""
    excerpts = excerpts or Excerpts(line)
    part = excerpts.excerpt_of_station(station)
    allowed = min(units, MAX_STATION)
    if allowed < MAX_STATION:
        # Not remembered: with the full amount of work more may be known.
        return _analyse_excerpt(part, station.key, allowed)
    return _cached_analysis(
        _Excerpt(excerpts.text_common_to_stations, _excerpt_text(part, station.key), part, station.key)
    )


def line_reduced_to_station(line: ParsedLine, station: Station) -> ParsedLine:
    """Everything of the line that a decision at this station reads, and nothing else."""
    return Excerpts(line).excerpt_of_station(station)


class Excerpts:
    """Excerpts of the stations of one line. What a decision reads at each of them is stored, and serialized,
    once."""

    def __init__(self, line: ParsedLine) -> None:
        self._line = line
        self._everywhere = replace(
            line,
            # What no decision here reads is emptied, so that an edit of it changes no excerpt.
            key="",
            name="",
            description="",
            start="",
            inputs=(),
            stations=(),
            gates=(),
            ends=(),
            forbidden_parallel=(),
            # Named budgets count over stations that are not here; a study counts nothing that they bound.
            budgets=(),
            policy=replace(line.policy, standard_budgets=False),
            extra={},
        )

    @cached_property
    def text_common_to_stations(self) -> str:
        """Return all of it as a text, to know it again by."""
        return repr(self._everywhere)

    def excerpt_of_station(self, station: Station) -> ParsedLine:
        line, targets = self._line, set(_possible_targets(self._line, station))
        there = sorted(({station.key} | targets) & line.stations_by_key.keys(), key=line.index_of_station)
        stations = tuple(
            # The kind stays: the failure of a `hook` has another eval (law §2).
            replace(station, work={"kind": station.kind}, labels=(), join=None, extra={})
            if key == station.key
            else _station_with_join_only(line.station(key), station)
            for key in there
        )
        gates = {station.gate, *(key for rule in station.rules for key in rule.gates)}
        return replace(
            self._everywhere,
            start=station.key,
            stations=stations,
            gates=tuple(gate for gate in line.gates if gate.key in gates),
            ends=tuple(end for end in line.ends if end.key in targets),
            forbidden_parallel=tuple(
                pair for pair in line.forbidden_parallel if _has_stations(stations, pair)
            ),
        )


def _has_stations(stations: Iterable[Station], keys: Iterable[str]) -> bool:
    return set(keys) <= {station.key for station in stations}


def _station_with_join_only(station: Station, source: Station) -> Station:
    """Its join, as far as a token from `source` waits there."""
    waits = station.join is not None and source.key in station.join.wait_for
    join = Join((source.key,)) if waits else None
    return Station(station.key, station.key, limits=station.limits, join=join)


def _possible_targets(line: ParsedLine, station: Station) -> Iterator[str]:
    """Yield the targets that the station's rules, gates and policy can lead to."""
    knobs = [line.policy.on_failure, line.policy.on_reject]
    for rule in station.rules:
        yield from rule.to
        if rule.exhausted_to:
            yield rule.exhausted_to
    for key in (station.gate, *(key for rule in station.rules for key in rule.gates)):
        gate = line.gates_by_key.get(key or "")
        knobs.append(gate.on_reject if gate and gate.on_reject else "")
    # `station:<key>` and `route:<station>` name their target behind the colon (law §4).
    yield from (knob.partition(":")[2] for knob in knobs if ":" in knob)
    # Where `no_rules: advance` and `no_match: default` lead (law §4).
    after = line.next_station_or_none(station.key)
    if after is not None:
        yield after.key


def _excerpt_text(part: ParsedLine, key: str) -> str:
    """Return what an excerpt says of its station, and is not common to all of the line."""
    others = [
        [station.key, LIMITS.write(station.limits), station.join is not None] if station.key != key else key
        for station in part.stations
    ]
    gates, ends = [GATE.write(gate) for gate in part.gates], [END.write(end) for end in part.ends]
    return _exact_json([STATION.write(part.station(key)), others, gates, ends, part.forbidden_parallel])


def _exact_json(value: Any) -> str:
    return json.dumps(value, default=_exact_number)


def _exact_number(number: Any) -> dict[str, str]:
    """A number with more digits than a double holds."""
    return {"number": str(number)}


@dataclass(frozen=True, slots=True)
class _Excerpt:
    common: str
    text: str
    # Left out of the comparison: the two texts say all of it.
    line: ParsedLine = field(compare=False)
    station: str = field(compare=False)


@lru_cache(maxsize=REMEMBERED)
def _cached_analysis(part: _Excerpt) -> StationAnalysis:
    return _analyse_excerpt(part.line, part.station, MAX_STATION)


def _analyse_excerpt(line: ParsedLine, key: str, units: int) -> StationAnalysis:
    station = line.station(key)
    analysis = FirstMatchAnalysis(line, station)
    with limiting_effort(units) as meter:
        standings = analysis.rule_liveness
        rests = {outcome_state: analysis.outcomes_no_rule_takes(outcome_state) for outcome_state in STANDINGS}
        constants = {rule.id: analysis.constant_truth_of_rule(rule) for rule in analysis.readable}
        targets = {rule.id: set(rule.to) for rule in station.rules}
        shadowing = {liveness.rule.id: _rule_shadows(analysis, liveness, targets) for liveness in standings}
    return StationAnalysis(
        readable=analysis.readable,
        standings=standings,
        shadowing=shadowing,
        constants={rule: constant for rule, constant in constants.items() if constant is not None},
        rests={outcome_state: rest for outcome_state, rest in rests.items() if rest is not None},
        # `left` falls below zero when the bound is passed.
        cost=units - max(meter.left, 0),
    )


def _rule_shadows(
    analysis: FirstMatchAnalysis, liveness: Liveness, targets: dict[str, set[str]]
) -> tuple[Shadow, ...]:
    """Return the shadows of rules that can be taken. Situations are stored only of the first and where a gate
    could be gone round."""
    rule = liveness.rule
    if rule.fault is not None or liveness.status == DEAD:
        return ()
    if liveness.status != SHADOWED and not rule.gates:
        return ()
    in_short = [other for other, to in targets.items() if not (rule.gates and to & targets[rule.id])]
    return analysis.shadows(rule, in_short)
