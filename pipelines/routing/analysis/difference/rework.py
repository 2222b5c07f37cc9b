"""Gates that demand the forced failure route: then the rules are tested again without the rule that asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pipelines.routing.analysis.difference.change import Both, StationPair
from pipelines.routing.analysis.difference.routing_effects import (
    may_demand_rework,
    reviewer_may_demand_rework,
    sole_rework_gate_or_empty,
)
from pipelines.routing.document.gates import Gate
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import Rule


def rework_rule_pairs(sides: StationPair, old: Iterable[Rule], new: Iterable[Rule]) -> Iterator[Both]:
    """Yield the pairs of an old and a new rule that each have a gate that can demand rework."""
    before = [rule for rule in old if _may_demand_rework(sides.pair.old, rule)]
    now = [rule for rule in new if _may_demand_rework(sides.pair.new, rule)]
    yield from ((a, b) for b in now for a in before)


def _may_demand_rework(line: ParsedLine, rule: Rule) -> bool:
    return any(map(may_demand_rework, _rule_gates(line, rule)))


def _rule_gates(line: ParsedLine, rule: Rule) -> list[Gate]:
    return [line.gate(key) for key in rule.gates]


def rework_facts(sides: StationPair, after: Both) -> dict[str, Any]:
    """Return the facts by which rework is demanded: a person says so at every gate of the two rules that lets
    them; a check demands it by itself."""
    rework_gates = {
        gate.key
        for line, rule in zip((sides.pair.old, sides.pair.new), after, strict=True)
        for gate in _rule_gates(line, rule)
        if reviewer_may_demand_rework(gate)
    }
    return {"gates": {key: {"decision": "rework"} for key in sorted(rework_gates)}}


def shared_rework_gate_or_empty(sides: StationPair, after: Both) -> str:
    """Return the key of the gate that in both versions is the only one that can have demanded rework, by a
    person's vote; else ""."""
    gates = {
        sole_rework_gate_or_empty(sides.pair.old, after[0]),
        sole_rework_gate_or_empty(sides.pair.new, after[1]),
    }
    return gates.pop() if len(gates) == 1 else ""
