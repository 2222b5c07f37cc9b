"""Structural differences that route and are no region of one station: stations and ends that come and go,
limits, gates, knobs.

Each is defined otherwise in the two versions. Where a situation brings it to light in `decide`, it is
shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from pipelines.routing.analysis.difference import routing_effects, samples
from pipelines.routing.analysis.difference.routing_effects import LinePair
from pipelines.routing.analysis.difference.samples import (
    Sample,
    Situation,
    first_sample_decided_otherwise_or_none,
    shared_station_keys,
    situation_with_merged_facts,
)
from pipelines.routing.basics.canonical import canonical_json
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.decisions import Move
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.document.budgets import BUDGET
from pipelines.routing.document.escalations import ESCALATION
from pipelines.routing.document.gates import JUMP, Gate
from pipelines.routing.document.kinds import expected_result, failure_eval
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.preconditions import HANDOFF
from pipelines.routing.document.requirements import EVERYONE, Requirement
from pipelines.routing.document.stations import Station

BASIC: tuple[dict[str, Any], ...] = ({"result": "success"}, {"result": "failure"}, {"result": "blocked"})
MAX_ENTRIES = 6


@dataclass(frozen=True, slots=True)
class StructuralDifference:
    """Structural difference: `what` is defined otherwise of `key` (a station, gate or end; "" for the line);
    None: it is not there."""

    what: str
    key: str
    old: Any
    new: Any
    sample: Sample | None = None

    def to_dict(self) -> dict[str, Any]:
        entry = {"what": self.what, "key": self.key, "old": self.old, "new": self.new}
        return {**entry, "sample": self.sample.to_dict() if self.sample else None}


def structural_differences(pair: LinePair) -> tuple[StructuralDifference, ...]:
    """Return the structural differences in the order: the line, its stations, its gates, its ends."""
    differences = [
        *_line_differences(pair),
        *_added_or_removed_stations(pair),
        *_gate_differences(pair),
        *_end_differences(pair),
    ]
    return tuple(differences)


def _difference_if_unequal(what: str, key: str, old: Any, new: Any) -> Iterator[StructuralDifference]:
    if canonical_json(old) != canonical_json(new):
        yield StructuralDifference(what, key, old, new)


# The line


def _line_differences(pair: LinePair) -> Iterator[StructuralDifference]:
    old, new = pair.old, pair.new
    yield from _difference_if_unequal("start", "", old.start, new.start)
    for change in _difference_if_unequal("revisit", "", old.policy.revisit, new.policy.revisit):
        yield replace(change, sample=_first_sample_or_none(pair, _revisit_situations(pair)))
    for change in _difference_if_unequal("visit_cap", "", old.policy.visit_cap, new.policy.visit_cap):
        least = min(old.policy.visit_cap, new.policy.visit_cap)
        yield replace(
            change,
            sample=_first_sample_or_none(pair, _visit_situations(pair, shared_station_keys(pair), [least])),
        )
    if _has_visit_limits(pair):
        for change in _difference_if_unequal(
            "on_exhausted", "", old.policy.on_exhausted, new.policy.on_exhausted
        ):
            yield replace(
                change,
                sample=_first_sample_or_none(
                    pair, _visit_situations(pair, *_limited_stations_and_limits(pair))
                ),
            )
    for change in _difference_if_unequal(
        "condition_scope", "", old.policy.condition_scope, new.policy.condition_scope
    ):
        yield replace(change, sample=_first_sample_or_none(pair, _context_situations(pair)))
    yield from _difference_if_unequal("contradiction", "", old.policy.contradiction, new.policy.contradiction)
    yield from _jump_target_differences(pair)
    yield from _jump_review_differences(pair)
    yield from _station_order_differences(pair)
    parallel = [sorted(map(sorted, line.forbidden_parallel)) for line in (old, new)]
    yield from _difference_if_unequal("forbidden_parallel", "", *parallel)
    yield from _difference_if_unequal(
        "budgets",
        "",
        *([BUDGET.write(limit) for limit in line.named_budgets_in_force] for line in (old, new)),
    )
    escalations = [[ESCALATION.write(escalation) for escalation in line.escalations] for line in (old, new)]
    yield from _difference_if_unequal("escalations", "", *escalations)
    yield from _difference_if_unequal("cost", "", old.limits.cost_usd, new.limits.cost_usd)


def _has_visit_limits(pair: LinePair) -> bool:
    return bool(_limited_stations_and_limits(pair)[0])


def _limited_stations_and_limits(pair: LinePair) -> tuple[list[str], list[int]]:
    """Stations with `max_visits` in either version, and the numbers."""
    limits = {
        key: {pair.old.station(key).limits.max_visits, pair.new.station(key).limits.max_visits} - {None}
        for key in shared_station_keys(pair)
    }
    keys = [key for key, numbers in limits.items() if numbers]
    return keys, sorted({number for key in keys for number in limits[key] if number is not None})


def _jump_review_differences(pair: LinePair) -> Iterator[StructuralDifference]:
    """A jump is reviewed in a line that asks people at all; a reject there follows the line's knob."""
    if not (pair.old.jump_targets and pair.new.jump_targets):
        return
    reject_policies = [line.policy.on_reject if line.asks_a_person else None for line in (pair.old, pair.new)]
    for change in _difference_if_unequal("jump_review", "", *reject_policies):
        jumps = [_jump_situation(key, key) for key in shared_station_keys(pair)[:MAX_ENTRIES]]
        refused = {"gates": {JUMP: {"decision": "reject", "route": "fail"}}}
        # Without a word at the gate: where people are asked, the task waits.
        unreviewed = [{**jump, "facts": {}} for jump in jumps]
        tries = [*unreviewed, *jumps, *(situation_with_merged_facts(jump, refused) for jump in jumps)]
        yield replace(change, sample=_first_sample_or_none(pair, iter(tries)))


def _jump_target_differences(pair: LinePair) -> Iterator[StructuralDifference]:
    """Yield differences in the allowed jumps that both versions name or imply by naming none; a place that
    only one of them has is reported with the place."""
    known = (*pair.old.stations_by_key, *pair.old.ends_by_key)
    shared_places = {key for key in known if key in pair.new.stations_by_key or key in pair.new.ends_by_key}
    old, new = ([key for key in line.jump_targets if key in shared_places] for line in (pair.old, pair.new))
    for change in _difference_if_unequal("jumps", "", sorted(old), sorted(new)):
        apart = sorted({*old} ^ {*new})
        yield replace(
            change,
            sample=_first_sample_or_none(
                pair,
                (situation for key in apart for situation in _jump_situation_from_first_station(pair, key)),
            ),
        )


def _station_order_differences(pair: LinePair) -> Iterator[StructuralDifference]:
    """Yield differences in which moves are forward ones (law §8): an open escalation blocks them."""
    new = shared_station_keys(pair)
    old = [station.key for station in pair.old.stations if station.key in pair.new.stations_by_key]
    for change in _difference_if_unequal("order", "", old, new):
        jumps = (
            _jump_situation(a, b)
            for a in new
            for b in new
            if old.index(a) < old.index(b) and new.index(a) > new.index(b)
        )
        # law §8: an open escalation blocks a → b, which is forward in the old version alone.
        blocked = (situation_with_merged_facts(jump, {"open_escalations": 1}) for jump in jumps)
        yield replace(change, sample=_first_sample_or_none(pair, blocked))


# Stations


def _added_or_removed_stations(pair: LinePair) -> Iterator[StructuralDifference]:
    for station in pair.old.stations:
        if station.key not in pair.new.stations_by_key:
            sample = _first_sample_or_none(pair, iter(_jump_situation_from_first_station(pair, station.key)))
            yield StructuralDifference("station", station.key, station.name, None, sample)
    for station in pair.new.stations:
        old = pair.old.stations_by_key.get(station.key)
        # A jump is the one way of an outcome to tell whether the station is there
        if old is None:
            sample = _first_sample_or_none(pair, iter(_jump_situation_from_first_station(pair, station.key)))
            yield StructuralDifference("station", station.key, None, station.name, sample)
        else:
            yield from _station_differences(pair, old, station)


def _station_differences(pair: LinePair, old: Station, new: Station) -> Iterator[StructuralDifference]:
    key = new.key
    gates = [_gate_signature(line, station) for line, station in ((pair.old, old), (pair.new, new))]
    if gates[0] != gates[1]:
        sample = _first_sample_or_none(pair, _gate_situations(pair, old, new))
        yield StructuralDifference("station_gate", key, old.gate, new.gate, sample)
    for change in _difference_if_unequal("max_visits", key, old.limits.max_visits, new.limits.max_visits):
        numbers = [n for n in (old.limits.max_visits, new.limits.max_visits) if n is not None]
        yield replace(change, sample=_first_sample_or_none(pair, _visit_situations(pair, [key], numbers)))
    for change in _difference_if_unequal(
        "signal_reworks", key, old.limits.signal_retries, new.limits.signal_retries
    ):
        # As many as the stricter version allows: there one more is refused.
        done = min(old.limits.signal_retries, new.limits.signal_retries)
        outcome = {"result": "success", "signals": [{"verdict": "rework"}]}
        yield replace(
            change,
            sample=_first_sample_or_none(pair, _station_situation(key, outcome, {"signal_reworks": done})),
        )
    required = [station.result_document == "required" for station in (old, new)]
    for change in _difference_if_unequal("result_document", key, *required):
        yield replace(
            change, sample=_first_sample_or_none(pair, _station_situation(key, {"exit_code": 0}, {}))
        )
    for change in _difference_if_unequal("failed", key, failure_eval(old.kind), failure_eval(new.kind)):
        yield replace(
            change, sample=_first_sample_or_none(pair, _station_situation(key, {"result": "failure"}, {}))
        )
    for change in _difference_if_unequal("expects", key, *map(_expectations_signature, (old, new))):
        yield replace(
            change, sample=_first_sample_or_none(pair, _station_situation(key, {"result": "success"}, {}))
        )
    yield from _difference_if_unequal("join", key, *map(_join_signature, (old, new)))
    yield from _difference_if_unequal("stage", key, pair.old.stage_key(key), pair.new.stage_key(key))
    yield from _difference_if_unequal(
        "requires", key, *(list(line.requirements_of(key)) for line in (pair.old, pair.new))
    )
    yield from _difference_if_unequal("agent", key, ", ".join(old.agents), ", ".join(new.agents))
    if any(HANDOFF in line.requirements_of(key) for line in (pair.old, pair.new)):
        yield from _difference_if_unequal(
            "handoff", key, pair.old.handoff_schema(key), pair.new.handoff_schema(key)
        )


def _gate_signature(line: ParsedLine, station: Station) -> Any:
    return routing_effects.gate_signature_or_none(line, line.gate(station.gate)) if station.gate else None


def _expectations_signature(station: Station) -> Any:
    """Return what a fact decides by: what is expected, what it counts as, the files, the cost."""
    files = sorted(artifact.path for artifact in station.artifacts if artifact.required)
    expectations = {
        "expects": expected_result(station),
        "outcome_of": dict(station.outcome_of),
        "artifacts": files,
    }
    filled = {key: value for key, value in expectations.items() if value}
    cost = station.limits.cost_usd
    return {**filled, **({} if cost is None else {"cost_usd": cost})} or None


def _join_signature(station: Station) -> Any:
    if station.join is None:
        return None
    return {"wait_for": sorted(station.join.wait_for), "aggregation": station.join.aggregation}


def _gate_situations(pair: LinePair, old: Station, new: Station) -> Iterator[Situation]:
    gates = [
        (line.gate(station.gate), line)
        for line, station in ((pair.old, old), (pair.new, new))
        if station.gate
    ]
    approved = {gate.key: {"decision": "approve"} for gate, _ in gates}
    outcomes = [*BASIC, *samples.outcomes_at_check_values({"result": "success"}, [gate for gate, _ in gates])]
    for outcome in outcomes:
        yield {"station": new.key, "outcome": outcome}
        yield from _station_situation(new.key, outcome, {"gates": approved})
    by_key = {gate.key: (gate, line) for gate, line in gates}
    for facts in samples.facts_with_each_gate_refusing(pair, approved, by_key):
        for outcome in outcomes:
            yield from _station_situation(new.key, outcome, facts)


def _station_situation(key: str, outcome: dict[str, Any], facts: dict[str, Any]) -> Iterator[Situation]:
    yield situation_with_merged_facts({"station": key, "outcome": outcome}, facts)


# Gates: what a decision does not read, but the people at the gate do


def _gate_differences(pair: LinePair) -> Iterator[StructuralDifference]:
    for gate in pair.new.gates:
        old = pair.old.gates_by_key.get(gate.key)
        if old is not None and gate.mode != "skip" and _is_gate_used(pair.new, gate.key):
            yield from _difference_if_unequal("approval", gate.key, _voting_terms(old), _voting_terms(gate))


def _is_gate_used(line: ParsedLine, key: str) -> bool:
    return any(
        station.gate == key or any(key in rule.gates for rule in station.rules) for station in line.stations
    )


def _requirement_values(need: Requirement) -> list[Any]:
    return [need.kind, need.name, EVERYONE if need.everyone else need.count, *filter(None, (need.agent,))]


def _voting_terms(gate: Gate) -> dict[str, Any]:
    approval = gate.approval
    # A reminder decides nothing.
    due = {"after": gate.due.after, "then": gate.due.then} if gate.due and gate.due.then != "remind" else None
    return {
        "who": sorted(map(_requirement_values, approval.who), key=str),
        "requester_may": approval.requester_may,
        "producer_may": approval.producer_may,
        "reason_required": approval.reason_required,
        "offers": sorted(gate.offers),
        "due": due,
    }


# Ends


def _end_differences(pair: LinePair) -> Iterator[StructuralDifference]:
    for key in dict.fromkeys((*pair.old.ends_by_key, *pair.new.ends_by_key)):
        kinds = [
            line.ends_by_key[key].kind if key in line.ends_by_key else None for line in (pair.old, pair.new)
        ]
        for change in _difference_if_unequal("end", key, *kinds):
            yield replace(
                change,
                sample=_first_sample_or_none(pair, iter(_jump_situation_from_first_station(pair, key))),
            )


# Situations


def _first_sample_or_none(pair: LinePair, situations: Iterator[Situation]) -> Sample | None:
    return first_sample_decided_otherwise_or_none(pair, situations)


def _jump_situation(source: str, target: str) -> Situation:
    """The work says that it is complete already, and where the task should be; the jump is approved."""
    signal = {"verdict": "hold", "reason": "already_complete", "meta": {"targetState": target}}
    facts = {"gates": {JUMP: {"decision": "approve"}}}
    return {"station": source, "outcome": {"result": "success", "signals": [signal]}, "facts": facts}


def _jump_situation_from_first_station(pair: LinePair, target: str) -> list[Situation]:
    # Whether a jump is allowed depends on its target alone.
    return [_jump_situation(source, target) for source in shared_station_keys(pair)[:1]]


def _situations_entering_station(pair: LinePair, key: str) -> Iterator[Situation]:
    """Situations that bring a task to the station in both versions: by a rule where a plain one does."""
    count = 0
    for source in shared_station_keys(pair):
        for outcome in _outcomes_to_try(pair, source, key):
            situation = {
                "station": source,
                "outcome": outcome,
                "facts": {"gates": _approvals_of_all_gates(pair)},
            }
            if count < MAX_ENTRIES and _is_reached_in_both(pair, situation, key):
                count += 1
                yield situation
    yield from _jump_situation_from_first_station(pair, key)


def _outcomes_to_try(pair: LinePair, source: str, key: str) -> Iterator[dict[str, Any]]:
    """Plain ones, and such as the rules that lead there look for."""
    yield from BASIC
    for rule in pair.new.station(source).rules:
        if key in rule.to:
            for output in islice(samples.outputs_at_condition_values(rule), MAX_ENTRIES):
                yield from ({**outcome, "output": output} for outcome in BASIC)


def _approvals_of_all_gates(pair: LinePair) -> dict[str, Any]:
    keys = {**pair.old.gates_by_key, **pair.new.gates_by_key}
    return {key: {"decision": "approve"} for key in keys}


def _is_reached_in_both(pair: LinePair, situation: Situation, key: str) -> bool:
    try:
        decisions = [decide(line, read_situation(situation)) for line in (pair.old, pair.new)]
    except Malformed:
        return False
    return all(isinstance(decision, Move) and key in decision.to for decision in decisions)


def _visit_situations(pair: LinePair, keys: list[str], counts: list[int]) -> Iterator[Situation]:
    """Yield situations of stations entered so often already."""
    for key in keys[:MAX_ENTRIES]:
        for situation in _situations_entering_station(pair, key):
            for count in counts:
                yield situation_with_merged_facts(situation, {"visits": {key: count}})


def _revisit_situations(pair: LinePair) -> Iterator[Situation]:
    limits = [n for line in (pair.old, pair.new) if (n := line.policy.revisit_limit) is not None]
    for key in shared_station_keys(pair)[:MAX_ENTRIES]:
        for situation in _situations_entering_station(pair, key):
            # One visit breaks `forbid`, n + 1 break `limit:n`.
            for count in (1, *(n + 1 for n in limits)):
                facts = {"visits": {key: count}, "visited": sorted({situation["station"], key})}
                yield situation_with_merged_facts(situation, facts)


def _context_situations(pair: LinePair) -> Iterator[Situation]:
    """Yield situations in which what a rule looks for in the output stands in the context."""
    for key in shared_station_keys(pair)[:MAX_ENTRIES]:
        for rule in (*pair.old.station(key).rules, *pair.new.station(key).rules):
            for context in samples.outputs_at_condition_values(rule):
                for outcome in BASIC[:2]:
                    yield from _station_situation(key, outcome, {"context": context})
