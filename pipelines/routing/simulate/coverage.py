"""Coverage of a line by a set of scenarios: rules tested and taken, stations, gates, policy."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pipelines.routing.decide.decisions import DecisionAnswer, Wait
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.simulate.run import ScenarioResult

# `no_match: stuck`, as the trace notes a policy
_KNOB = re.compile(r"(no_rules|no_match|on_failure|failure_rules): ")


@dataclass(frozen=True, slots=True)
class CoveredParts:
    """Coverage by one scenario, or by several: keys, ids, and `station: knob: value` of the policy where it
    was applied."""

    tested: frozenset[str] = frozenset()
    taken: frozenset[str] = frozenset()
    stations: frozenset[str] = frozenset()
    gates: frozenset[str] = frozenset()
    policy: frozenset[str] = frozenset()

    def __or__(self, other: CoveredParts) -> CoveredParts:
        return CoveredParts(*(getattr(self, name) | getattr(other, name) for name in NAMES))

    def to_dict(self) -> dict[str, list[str]]:
        return {name: sorted(getattr(self, name)) for name in NAMES}

    @classmethod
    def from_dict(cls, data: dict[str, list[str]]) -> CoveredParts:
        return cls(*(frozenset(data.get(name, ())) for name in NAMES))


NAMES = ("tested", "taken", "stations", "gates", "policy")


def covered_parts(result: ScenarioResult) -> CoveredParts:
    decisions = [pair for step in result.steps for pair in step.decisions]
    return CoveredParts(
        tested=frozenset(rule for _, decision in decisions for rule in _tested_rules(decision)),
        taken=frozenset(result.matched_rules),
        stations=frozenset(result.path),
        gates=frozenset(gate for _, d in decisions if isinstance(d, Wait) for gate in d.gates),
        policy=frozenset(
            f"{station}: {e.why}" for station, d in decisions for e in d.trace if _KNOB.match(e.why)
        ),
    )


def parts_covered_by_all(results: Iterable[ScenarioResult]) -> CoveredParts:
    covered = CoveredParts()
    for result in results:
        covered = covered | covered_parts(result)
    return covered


def _tested_rules(decision: DecisionAnswer) -> list[str]:
    return [entry.rule for entry in decision.trace if entry.step == "rules" and entry.rule]


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage of one line, in the order of its document. `percent`: rules taken, of all; 100 where there are
    none."""

    shown: CoveredParts
    rules: tuple[str, ...]
    stations: tuple[str, ...]
    gates: tuple[str, ...]

    @classmethod
    def of(cls, line: ParsedLine, covered: CoveredParts) -> Coverage:
        return cls(covered, tuple(line.rules_by_id), tuple(line.stations_by_key), tuple(line.gates_by_key))

    @property
    def untaken_rules(self) -> tuple[str, ...]:
        return tuple(rule for rule in self.rules if rule not in self.shown.taken)

    @property
    def percent(self) -> float:
        if not self.rules:
            return 100.0
        return 100.0 * (len(self.rules) - len(self.untaken_rules)) / len(self.rules)

    def to_dict(self) -> dict[str, Any]:
        return {
            "percent": round(self.percent, 1),
            "rules": {
                "all": len(self.rules),
                "tested": [rule for rule in self.rules if rule in self.shown.tested],
                "taken": [rule for rule in self.rules if rule in self.shown.taken],
                "never_taken": list(self.untaken_rules),
            },
            "stations": {
                "all": len(self.stations),
                "visited": [key for key in self.stations if key in self.shown.stations],
                "never_visited": [key for key in self.stations if key not in self.shown.stations],
            },
            "gates": {
                "all": len(self.gates),
                "opened": [key for key in self.gates if key in self.shown.gates],
                "never_opened": [key for key in self.gates if key not in self.shown.gates],
            },
            "policy": sorted(self.shown.policy),
        }
