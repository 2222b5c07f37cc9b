"""What the recorded decisions say of a line: rules tested and taken, time at stations and gates, the policy applied.

Counted by the database, over one version or all of them; a decision, job or gate visit counts for the version that
it was judged by. For a rule that was never taken the analysis of regions says whether it can be taken at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection

from pipelines.models import Line, LineVersion, VersionRule
from pipelines.queries import times, versions
from pipelines.queries.dates import EVER, Dates
from pipelines.queries.times import Spread
from pipelines.routing.analysis.lint.station_analysis import MAX_STATION, study
from pipelines.routing.analysis.regions.stations import DEAD, Liveness
from pipelines.routing.document.line import Line as Parsed
from pipelines.routing.document.line import Rule

Key = tuple[str, str]
"""A station's key and a rule's id."""


@dataclass(frozen=True, slots=True)
class Never:
    """Of a rule that was never taken in `tasks` tasks that were decided at its station.

    `can`: True with `witness`, a situation that takes it; False with `killers`, the rules that leave it nothing
    (none: nothing satisfies it); None with `why` it is not known.
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
    never: Never | None = None


@dataclass(frozen=True, slots=True)
class StationNumbers:
    """`waiting` until it was started, `working` until it reported, `gates`: at gates with its outcome."""

    key: str
    name: str
    outcomes: int
    rules: tuple[RuleNumbers, ...]
    waiting: Spread | None = None
    working: Spread | None = None
    gates: Spread | None = None
    policy: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class GateNumbers:
    """`words`: how often people said which. `deciding`: from opening to the decision."""

    key: str
    name: str
    visits: int
    open: int
    words: Mapping[str, int]
    deciding: Spread | None


@dataclass(frozen=True, slots=True)
class LineInsights:
    """`version` is None over all versions. `policy`: knob and value, with the outcomes that it decided."""

    version: int | None
    tasks: int
    decisions: int
    stations: tuple[StationNumbers, ...]
    gates: tuple[GateNumbers, ...]
    policy: tuple[tuple[str, int], ...]


@dataclass(slots=True)
class _Counts:
    """What the database counted, by station and rule."""

    outcomes: Counter[str] = field(default_factory=Counter)
    tasks: dict[tuple[int, str], int] = field(default_factory=dict)
    tested: Counter[Key] = field(default_factory=Counter)
    policy: Counter[Key] = field(default_factory=Counter)
    taken: dict[Key, tuple[int, datetime]] = field(default_factory=dict)


def of_line(line: Line, number: int | None = None, dates: Dates = EVER) -> LineInsights | None:
    """Of the version with this number; without one of all versions, listed as the live one has them. None where
    there is no such version. `dates`: when it was decided, and jobs began."""
    if number is None:
        version, shown = None, line.live
    else:
        version = shown = line.versions.filter(number=min(number, 2**31 - 1)).first()
    return numbers_of(line, versions.by_id(shown.pk), version, dates) if shown else None


def numbers_of(line: Line, shown: Parsed, version: LineVersion | None, dates: Dates) -> LineInsights:
    """`shown`: the version whose stations and rules are listed, in order; what only others have comes last."""
    wanted = _Wanted(line.pk, version.pk if version else None, dates)
    counts = _counts(wanted)
    spent = _times(wanted)
    having = _having(line, version)
    stations = [
        _station(shown, key, counts, spent, having)
        for key in dict.fromkeys((*shown.stations_by_key, *counts.outcomes))
    ]
    tasks, decisions = wanted.rows("SELECT count(DISTINCT decision.task_id), count(*) FROM {decisions}")[0]
    total: Counter[str] = Counter()
    for (_, knob), count in counts.policy.items():
        total[knob] += count
    return LineInsights(
        version=version.number if version else None,
        tasks=tasks,
        decisions=decisions,
        stations=tuple(stations),
        gates=_gates(wanted, shown),
        policy=tuple(total.most_common()),
    )


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which rows: of a line, of one version of it if there is a number, and of these days."""

    line: int
    version: int | None
    dates: Dates

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """`{decisions}`, `{jobs}`: the tables narrowed, as `decision` and `job`."""
        start, end = self.dates.bounds
        narrowed = {
            name: self._narrowed(name, at) for name, at in (("decision", "at"), ("job", "created_at"))
        }
        with connection.cursor() as cursor:
            cursor.execute(
                sql.format(decisions=narrowed["decision"], jobs=narrowed["job"], by="job.station"),
                {"line": self.line, "version": self.version, "start": start, "end": end},
            )
            return list(cursor.fetchall())

    def _narrowed(self, name: str, at: str) -> str:
        start, end = self.dates.bounds
        on = f"task.id = {name}.task_id AND task.line_id = %(line)s"
        on += "" if self.version is None else f" AND {name}.pinned_id = %(version)s"
        on += "" if start is None else f" AND {name}.{at} >= %(start)s"
        on += "" if end is None else f" AND {name}.{at} < %(end)s"
        return f"pipelines_{name} {name} JOIN pipelines_task task ON {on}"


TESTED = """
SELECT decision.station, coalesce(rule.key, entry->>'rule', ''),
       CASE WHEN entry->>'why' ~ '^(no_rules|no_match|on_failure|failure_rules): '
            THEN split_part(entry->>'why', ' after ', 1)
            WHEN entry->>'why' LIKE 'blocked, and%%' THEN 'blocked' ELSE '' END AS knob,
       count(DISTINCT decision.job_id)
FROM {decisions} CROSS JOIN LATERAL jsonb_array_elements(decision.trace) entry
LEFT JOIN (pipelines_versionrule rule JOIN pipelines_versionstation station ON station.id = rule.station_id)
ON station.version_id = decision.pinned_id AND station.key = decision.station
AND rule.position < (entry->>'untaken')::int
WHERE entry->>'step' = 'rules' OR rule.id IS NOT NULL GROUP BY 1, 2, 3"""
"""`untaken`: the first so many rules of the station were false. One that was left out there had been tested before."""

TAKEN = """
SELECT decision.station, counted.rule, count(*), max(event.at)
FROM {decisions} JOIN pipelines_event event ON event.decision_id = decision.id
CROSS JOIN LATERAL jsonb_object_keys(event.data #> '{{count,rules}}') counted(rule)
WHERE jsonb_typeof(event.data #> '{{count,rules}}') = 'object' GROUP BY 1, 2"""

OUTCOMES = """
SELECT decision.pinned_id, decision.station, count(DISTINCT decision.job_id), count(DISTINCT decision.task_id)
FROM {decisions} GROUP BY 1, 2"""


def _counts(wanted: _Wanted) -> _Counts:
    found = _Counts()
    for version, station, outcomes, tasks in wanted.rows(OUTCOMES):
        found.outcomes[station] += outcomes
        found.tasks[version, station] = tasks
    for station, rule, knob, outcomes in wanted.rows(TESTED):
        if knob:
            found.policy[station, knob] += outcomes
        elif rule:
            found.tested[station, rule] += outcomes
    for station, rule, taken, last in wanted.rows(TAKEN):
        found.taken[station, rule] = (taken, last)
    return found


def _having(line: Line, version: LineVersion | None) -> dict[Key, set[int]]:
    """Which versions have a rule at all."""
    rows = VersionRule.objects.filter(version__line=line)
    rows = rows if version is None else rows.filter(version=version)
    found: dict[Key, set[int]] = {}
    for station, rule, pinned in rows.values_list("station__key", "key", "version_id"):
        found.setdefault((station, rule), set()).add(pinned)
    return found


# Stations and rules


def _station(
    shown: Parsed, key: str, counts: _Counts, spent: _Times, having: dict[Key, set[int]]
) -> StationNumbers:
    station = shown.stations_by_key.get(key)
    listed = {rule.id: rule for rule in station.rules} if station else {}
    seen = (rule for where, rule in (*counts.tested, *counts.taken) if where == key)
    rules = [
        _rule(shown, key, rule, listed.get(rule), counts, having) for rule in dict.fromkeys((*listed, *seen))
    ]
    return StationNumbers(
        key,
        station.name if station else key,
        counts.outcomes[key],
        tuple(rules),
        waiting=spent.waiting.get(key),
        working=spent.working.get(key),
        gates=spent.gates.get(key),
        policy=tuple((knob, n) for (where, knob), n in counts.policy.most_common() if where == key),
    )


def _rule(
    shown: Parsed, key: str, rule: str, found: Rule | None, counts: _Counts, having: dict[Key, set[int]]
) -> RuleNumbers:
    taken, last = counts.taken.get((key, rule), (0, None))
    outcomes = counts.outcomes[key]
    never = None
    if found is not None and not taken:
        tasks = sum(counts.tasks.get((version, key), 0) for version in having.get((key, rule), ()))
        never = _never(shown, key, rule, tasks)
    return RuleNumbers(
        id=rule,
        number=shown.station(key).rules.index(found) + 1 if found else None,
        label=(found.label if found else "") or rule,
        to=found.to if found else (),
        tested=counts.tested[key, rule],
        taken=taken,
        share=taken / outcomes if outcomes else 0.0,
        last_taken=last,
        never=never,
    )


def _never(shown: Parsed, key: str, rule: str, tasks: int) -> Never:
    standings = study(shown, shown.station(key), MAX_STATION).standings
    standing: Liveness = next(each for each in standings if each.rule.id == rule)
    if standing.witness is not None:
        return Never(tasks, True, witness=standing.witness.situation)
    if standing.status == DEAD:
        return Never(tasks, False, killers=standing.killers)
    return Never(tasks, None, why=standing.why)


# Times

DECIDING = f"""SELECT visit.gate, {times.SPREAD.format("visit.decided_at - visit.opened_at")}
FROM {{jobs}} JOIN pipelines_gatevisit visit ON visit.job_id = job.id
WHERE visit.state = 'decided' GROUP BY 1"""

WORDS = """SELECT visit.gate, visit.state, visit.word, count(*)
FROM {jobs} JOIN pipelines_gatevisit visit ON visit.job_id = job.id GROUP BY 1, 2, 3"""


@dataclass(frozen=True, slots=True)
class _Times:
    waiting: dict[str, Spread]
    working: dict[str, Spread]
    gates: dict[str, Spread]


def _times(wanted: _Wanted) -> _Times:
    each = (times.WAITING, times.WORKING, times.AT_GATES)
    return _Times(*(times.spreads(wanted.rows(sql)) for sql in each))


def _gates(wanted: _Wanted, shown: Parsed) -> tuple[GateNumbers, ...]:
    words: dict[str, Counter[tuple[str, str]]] = {gate.key: Counter() for gate in shown.gates}
    for gate, state, word, count in wanted.rows(WORDS):
        words.setdefault(gate, Counter())[state, word] += count
    deciding = times.spreads(wanted.rows(DECIDING))
    names = {gate.key: gate.name for gate in shown.gates}
    return tuple(
        GateNumbers(
            key,
            names.get(key, key),
            visits=said.total(),
            open=said["open", ""],
            words={word: n for (state, word), n in said.most_common() if state == "decided"},
            deciding=deciding.get(key),
        )
        for key, said in words.items()
    )
