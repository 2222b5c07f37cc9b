"""Gates that demand the forced failure route: then the rules are tested again without the rule that asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pipelines.routing.analysis.difference.change import Both, Sides
from pipelines.routing.analysis.difference.effects import can_be_told_to_rework, demands_rework, only_told
from pipelines.routing.document.gates import Gate
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import Rule


def pairs_demanding(sides: Sides, old: Iterable[Rule], new: Iterable[Rule]) -> Iterator[Both]:
    """Rules of the two versions that each have a gate that can demand it."""
    before = [rule for rule in old if _demands(sides.pair.old, rule)]
    now = [rule for rule in new if _demands(sides.pair.new, rule)]
    yield from ((a, b) for b in now for a in before)


def _demands(line: ParsedLine, rule: Rule) -> bool:
    return any(map(demands_rework, _gates(line, rule)))


def _gates(line: ParsedLine, rule: Rule) -> list[Gate]:
    return [line.gate(key) for key in rule.gates]


def demanded(sides: Sides, after: Both) -> dict[str, Any]:
    """Every gate at which a person can demand rework is told to; a check demands it by itself."""
    rework_gates = {
        gate.key
        for line, rule in zip((sides.pair.old, sides.pair.new), after, strict=True)
        for gate in _gates(line, rule)
        if can_be_told_to_rework(gate)
    }
    return {"gates": {key: {"decision": "rework"} for key in sorted(rework_gates)}}


def only_gate(sides: Sides, after: Both) -> str:
    """The gate that alone can have demanded it, by a person's word, in both versions; else ""."""
    gates = {only_told(sides.pair.old, after[0]), only_told(sides.pair.new, after[1])}
    return gates.pop() if len(gates) == 1 else ""
