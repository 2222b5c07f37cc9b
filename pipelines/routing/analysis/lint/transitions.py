"""The transitions by which a token can leave a station: by rules, by the policy, by people's words, by the jumps that
the line allows.

Left out: moves by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.routing.analysis.satisfiability.rework import may_demand_rework
from pipelines.routing.document.gates import JUMP_GATE, Gate
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import BLOCKED, ORIGIN, Rule
from pipelines.routing.document.stations import Station

ANYWHERE, JUMPED = "@anywhere", "@jumped"
"""Stand between a gate whose reviewer chooses where a rejection leads, and all stations; and between any station and
the places to which work may jump."""


@dataclass(frozen=True, slots=True)
class LintTransition:
    """Transition from a station. `by`: rule, exhausted, policy, gate or jump. `rule`: the one that is taken,
    whose budgets bind."""

    source: str
    target: str
    by: str
    rule: Rule | None = None


def lint_transitions(
    line: ParsedLine, dead: frozenset[str], unmatched: frozenset[tuple[str, str]]
) -> Iterator[LintTransition]:
    """`unmatched`: (station, passed or failed) for which an outcome may be taken by no rule."""
    origins = _origins_by_station(line, dead)
    for station in line.stations:
        for rule in station.rules:
            if rule.fault is None and rule.id not in dead:
                yield from _rule_transitions(line, station, rule, origins)
        if station.gate is not None:
            yield from _gate_transitions(line, station, line.gate(station.gate))
        yield from _policy_transitions(line, station, unmatched)
        if line.jump_targets:
            yield LintTransition(station.key, JUMPED, "jump")
            # Jumps are reviewed in a line with a gate that always asks a person (law §5, step 3).
            if line.asks_a_person:
                yield from _gate_transitions(line, station, JUMP_GATE)
    # A node between takes n + m transitions where direct ones would be n × m.
    yield from (LintTransition(JUMPED, place, "jump") for place in line.jump_targets)
    yield from (LintTransition(ANYWHERE, station.key, "gate") for station in line.stations)


def _origins_by_station(line: ParsedLine, dead: frozenset[str]) -> dict[str, list[str]]:
    """Return the stations from which a rule leads to each station, `@origin` itself and self-loops aside."""
    sources: dict[str, list[str]] = {}
    for station in line.stations:
        for rule in station.rules:
            if rule.fault is None and rule.id not in dead:
                for target in (*rule.to, *([rule.exhausted_to] if rule.exhausted_to else [])):
                    # `@origin` is set by moves to another station only (law §1).
                    if target != station.key:
                        sources.setdefault(target, []).append(station.key)
    return sources


def _rule_transitions(
    line: ParsedLine, station: Station, rule: Rule, origins: dict[str, list[str]]
) -> Iterator[LintTransition]:
    targets = origins.get(station.key, []) if rule.to == (ORIGIN,) else rule.to
    yield from (LintTransition(station.key, target, "rule", rule) for target in targets if target != BLOCKED)
    if rule.exhausted_to:
        # Without the rule: its budgets are used up here, so they bound nothing.
        yield LintTransition(station.key, rule.exhausted_to, "exhausted")
    for key in rule.gates:
        yield from _gate_transitions(line, station, line.gate(key))
    # After a demanded rework the other rules may leave the outcome to the policy, as after a compose that fails.
    if rule.compose or any(may_demand_rework(line.gate(key)) for key in rule.gates):
        yield from _failure_transitions(line, station)


def _gate_transitions(line: ParsedLine, station: Station, gate: Gate) -> Iterator[LintTransition]:
    if gate.mode == "skip":
        return
    if "reject" in gate.offers:
        knob = gate.on_reject or line.policy.on_reject
        if (target := rejection_target_or_none(line, gate)) is not None:
            yield LintTransition(station.key, target, "gate")
        elif knob == "reviewer_chooses":
            yield LintTransition(station.key, ANYWHERE, "gate")
        elif knob == "fail":
            yield LintTransition(station.key, "failed", "gate")
    if "abort" in gate.offers:
        yield LintTransition(station.key, "failed", "gate")


def rejection_target_or_none(line: ParsedLine, gate: Gate) -> str | None:
    """The station that a rejection leads to (law §5); None: it ends the task, runs its station again, is not offered,
    or the reviewer chooses."""
    knob = gate.on_reject or line.policy.on_reject
    routed = gate.mode != "skip" and "reject" in gate.offers and knob.startswith("route:")
    return knob.removeprefix("route:") if routed else None


def rejection_target_by_gate(line: ParsedLine) -> dict[str, str]:
    """Return the station to which the rejection of a gate leads, by key of each gate where it leads to one."""
    pairs = ((gate.key, rejection_target_or_none(line, gate)) for gate in line.gates)
    return {key: target for key, target in pairs if target is not None}


ONWARD, REJECTED = "@onward", "@rejected"
"""Drawings name edges by the ids of rules; behind the key of a station that of the policy, behind the id of a rule that
of what its gates reject (static/editor/drawing/graph.ts)."""


def drawn_edge_key_or_empty(line: ParsedLine, station: str, by: str, rule: str, target: str) -> str:
    """The drawn edge of a move from a station, by what a decision says of it; "": no edge stands for it, as for the
    policy after a failure, a signal, a word that sends back, or an origin."""
    if (
        by == "policy"
        and not rule
        and policy_target_after_pass_or_none(line, line.station(station)) == target
    ):
        return f"{station}{ONWARD}"
    _source, parsed_rule = line.rules_by_id.get(rule, (None, None))
    if parsed_rule is None:
        return ""
    if by == "gate" and target in {
        rejection_target_or_none(line, line.gate(key)) for key in parsed_rule.gates
    } - {station}:
        return f"{rule}{REJECTED}"
    return rule if by == "rule" and target in parsed_rule.to else ""


def policy_target_after_pass_or_none(line: ParsedLine, station: Station) -> str | None:
    """Return where the policy leads a passed outcome that no rule takes; None: nowhere by itself."""
    knob = line.policy.no_match if station.rules else line.policy.no_rules
    if knob in ("default", "advance"):
        after = line.next_station_or_none(station.key)
        return after.key if after else "completed"
    # `stuck`, `refuse`, `fallback` and `escalate` lead nowhere by themselves.
    return {"end": "completed", "fail": "failed"}.get(knob)


def _policy_transitions(
    line: ParsedLine, station: Station, unmatched: frozenset[tuple[str, str]]
) -> Iterator[LintTransition]:
    if (station.key, "failed") in unmatched:
        yield from _failure_transitions(line, station)
    if (station.key, "passed") not in unmatched:
        return
    target = policy_target_after_pass_or_none(line, station)
    if target is not None:
        yield LintTransition(station.key, target, "policy")


def _failure_transitions(line: ParsedLine, station: Station) -> Iterator[LintTransition]:
    knob = line.policy.on_failure
    if knob == "halt":
        yield LintTransition(station.key, "failed", "policy")
    elif knob.startswith("station:"):
        yield LintTransition(station.key, knob.removeprefix("station:"), "policy")
