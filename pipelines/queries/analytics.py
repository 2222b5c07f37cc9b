"""Numbers of a line from its recorded decisions: rules tested and taken, time at stations and gates, the
policy applied.

Counted by the database, over one version or all of them; a decision, job or gate visit counts for the
version that it was judged by. For a rule that was never taken the analysis of regions says whether it can
be taken at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pipelines.models import Line, LineVersion, VersionRule
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.queries import station_times, versions
from pipelines.queries.dates import EVER, DateRange
from pipelines.queries.statements import GATE_WORDS, MATCHED_RULES, STATION_OUTCOMES, TESTED_RULES
from pipelines.queries.station_times import TimeSpread
from pipelines.routing.analysis.lint.station_analysis import MAX_STATION, analyse_station
from pipelines.routing.analysis.satisfiability.liveness import DEAD, Liveness
from pipelines.routing.document.line import ParsedLine, Rule

Key = tuple[str, str]
"""A station's key and a rule's id."""
NO_TIMES: Sequence[TimeSpread | None] = (None, None, None)


@dataclass(frozen=True, slots=True)
class UnusedRule:
    """Rule that was never taken in `tasks` tasks that were decided at its station.

    `can`: True with `witness`, a situation that takes it; False with `killers`, the rules that leave it
    nothing (none: nothing satisfies it); None with `why` it is not known.
    """

    tasks: int
    can: bool | None
    witness: Mapping[str, Any] | None = None
    killers: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class RuleNumbers:
    """`tested`: outcomes for which it was tried. `share`: of the outcomes decided at the station, those by it.
    `number` is None for a rule that only other versions have."""

    id: str
    number: int | None
    label: str
    to: tuple[str, ...]
    tested: int
    taken: int
    share: float
    last_taken: datetime | None
    never: UnusedRule | None = None


@dataclass(frozen=True, slots=True)
class AppliedPolicy:
    """`knob`: the option of the policy with its value. `outcomes`: how many it decided."""

    knob: str
    outcomes: int


@dataclass(frozen=True, slots=True)
class StationNumbers:
    """`waiting` until it was started, `working` until it reported, `gates`: at gates with its outcome."""

    key: str
    name: str
    outcomes: int
    rules: tuple[RuleNumbers, ...]
    waiting: TimeSpread | None = None
    working: TimeSpread | None = None
    gates: TimeSpread | None = None
    policy: tuple[AppliedPolicy, ...] = ()


@dataclass(frozen=True, slots=True)
class GateNumbers:
    """`words`: how often people said which. `deciding`: from opening to the decision."""

    key: str
    name: str
    visits: int
    open: int
    words: Mapping[str, int]
    deciding: TimeSpread | None


@dataclass(frozen=True, slots=True)
class LineInsights:
    """`version` is None over all versions. The times are in seconds."""

    version: int | None
    tasks: int
    decisions: int
    stations: tuple[StationNumbers, ...]
    gates: tuple[GateNumbers, ...]
    policy: tuple[AppliedPolicy, ...]


@dataclass(slots=True)
class _Counts:
    """Counts of the database, by station and rule."""

    tasks_of_all: int = 0
    decisions: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    tasks: dict[tuple[int, str], int] = field(default_factory=dict)
    tested: Counter[Key] = field(default_factory=Counter)
    policy: Counter[Key] = field(default_factory=Counter)
    taken: dict[Key, tuple[int, datetime]] = field(default_factory=dict)


def line_insights_or_none(
    line: Line, number: int | None = None, dates: DateRange = EVER
) -> LineInsights | None:
    """Return the insights of the version with this number; without a number those of all versions, listed as
    the live one has them. None where there is no such version. `dates`: when it was decided, and jobs
    began."""
    if number is None:
        version, described_version = None, line.live
    else:
        # The column has 32 bits: a larger number is a version that there is not, and no error
        version = described_version = line.versions.filter(number=min(number, 2**31 - 1)).first()
    return (
        build_insights(line, versions.parsed_line_by_version_id(described_version.pk), version, dates)
        if described_version
        else None
    )


def build_insights(
    line: Line, parsed: ParsedLine, version: LineVersion | None, dates: DateRange
) -> LineInsights:
    """Return the insights of `version`, or of all versions if it is None. `parsed`: the version whose stations
    and rules are listed, in order; those of other versions come last."""
    every = [version.pk] if version else line.versions.values_list("pk", flat=True)
    query = _InsightsQuery(line.pk, tuple(every), dates)
    counts = _read_counts(query)
    spent = station_times.station_time_spreads(query.versions, *dates.first_moment_and_first_after)
    having = _versions_by_rule(line, version)
    stations = [
        _station_numbers(parsed, key, counts, spent.get((line.pk, key), NO_TIMES), having)
        # Stations that only other versions have come last
        for key in dict.fromkeys((*parsed.stations_by_key, *counts.outcomes))
    ]
    total: Counter[str] = Counter()
    for (_, knob), count in counts.policy.items():
        total[knob] += count
    return LineInsights(
        version=version.number if version else None,
        tasks=counts.tasks_of_all,
        decisions=counts.decisions,
        stations=tuple(stations),
        gates=_gate_numbers(query, parsed),
        policy=tuple(AppliedPolicy(*count) for count in total.most_common()),
    )


@dataclass(frozen=True, slots=True)
class _InsightsQuery:
    """Selection of rows: of these versions of a line, and of these days."""

    line: int
    versions: tuple[int, ...]
    dates: DateRange

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return fetch(
            sql,
            station_times.station_time_parameters(self.versions, *self.dates.first_moment_and_first_after),
        )


def _read_counts(query: _InsightsQuery) -> _Counts:
    counts = _Counts()
    for version, station, outcomes, tasks, decisions in query.rows(STATION_OUTCOMES):
        # The row without a station is of all of them (GROUPING SETS).
        if station is None:
            counts.tasks_of_all, counts.decisions = tasks, decisions
        else:
            counts.outcomes[station] += outcomes
            counts.tasks[version, station] = tasks
    for station, rule, knob, outcomes in query.rows(TESTED_RULES):
        if knob:
            counts.policy[station, knob] += outcomes
        elif rule:
            counts.tested[station, rule] += outcomes
    for station, rule, match_count, last in query.rows(MATCHED_RULES):
        counts.taken[station, rule] = (match_count, last)
    return counts


def _versions_by_rule(line: Line, version: LineVersion | None) -> dict[Key, set[int]]:
    """Return the versions that have each rule at all."""
    rows = VersionRule.objects.filter(version__line=line)
    rows = rows if version is None else rows.filter(version=version)
    versions_by_rule: dict[Key, set[int]] = {}
    for station, rule, pinned in rows.values_list("station__key", "key", "version_id"):
        versions_by_rule.setdefault((station, rule), set()).add(pinned)
    return versions_by_rule


# Stations and rules


def _station_numbers(
    parsed: ParsedLine,
    key: str,
    counts: _Counts,
    spent: Sequence[TimeSpread | None],
    having: dict[Key, set[int]],
) -> StationNumbers:
    station, (waiting, working, gates) = parsed.stations_by_key.get(key), spent
    listed = {rule.id: rule for rule in station.rules} if station else {}
    recorded_rules = (rule for where, rule in (*counts.tested, *counts.taken) if where == key)
    rules = [
        _rule_numbers(parsed, key, rule, listed.get(rule), counts, having)
        for rule in dict.fromkeys((*listed, *recorded_rules))
    ]
    return StationNumbers(
        key,
        station.name if station else key,
        counts.outcomes[key],
        tuple(rules),
        waiting=waiting,
        working=working,
        gates=gates,
        policy=tuple(
            AppliedPolicy(knob, count) for (where, knob), count in counts.policy.most_common() if where == key
        ),
    )


def _rule_numbers(
    parsed: ParsedLine,
    key: str,
    rule: str,
    definition: Rule | None,
    counts: _Counts,
    having: dict[Key, set[int]],
) -> RuleNumbers:
    match_count, last = counts.taken.get((key, rule), (0, None))
    outcomes = counts.outcomes[key]
    never = None
    if definition is not None and not match_count:
        # Only under versions that have the rule could it have been taken.
        tasks = sum(counts.tasks.get((version, key), 0) for version in having.get((key, rule), ()))
        never = _unused_rule(parsed, key, rule, tasks)
    return RuleNumbers(
        id=rule,
        number=parsed.station(key).rules.index(definition) + 1 if definition else None,
        label=definition.label if definition else "",
        to=definition.to if definition else (),
        tested=counts.tested[key, rule],
        taken=match_count,
        share=match_count / outcomes if outcomes else 0.0,
        last_taken=last,
        never=never,
    )


def _unused_rule(parsed: ParsedLine, key: str, rule: str, tasks: int) -> UnusedRule:
    standings = analyse_station(parsed, parsed.station(key), MAX_STATION).standings
    liveness: Liveness = next(candidate for candidate in standings if candidate.rule.id == rule)
    if liveness.witness is not None:
        return UnusedRule(tasks, True, witness=liveness.witness.situation)
    if liveness.status == DEAD:
        return UnusedRule(tasks, False, killers=liveness.killers)
    return UnusedRule(tasks, None, why=liveness.why)


# Times


def _gate_numbers(query: _InsightsQuery, parsed: ParsedLine) -> tuple[GateNumbers, ...]:
    words: dict[str, Counter[tuple[str, str]]] = {gate.key: Counter() for gate in parsed.gates}
    deciding: dict[str, TimeSpread] = {}
    for gate, state, word, count, decided, spread in query.rows(GATE_WORDS):
        if state is not None:
            words.setdefault(gate, Counter())[state, word] += count
        # A row without a state is of the gate as a whole (GROUPING SETS).
        elif decided:
            deciding[gate] = TimeSpread(decided, *spread)
    names = {gate.key: gate.name for gate in parsed.gates}
    return tuple(
        GateNumbers(
            key,
            names.get(key, key),
            visits=word_counts.total(),
            open=word_counts["open", ""],
            words={word: n for (state, word), n in word_counts.most_common() if state == "decided"},
            deciding=deciding.get(key),
        )
        for key, word_counts in words.items()
    )
