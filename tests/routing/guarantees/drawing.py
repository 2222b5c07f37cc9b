"""Drawn lines, small enough to be gone through, and guarantees about them."""

from __future__ import annotations

from random import Random
from typing import Any

Json = dict[str, Any]
STATIONS = ("a", "b", "c", "d", "e")
GATES = ("g", "h")
WHENS: tuple[Json | None, ...] = (
    None,
    {"result": "success"},
    {"result": ["failure", "cancelled"]},
    {"verdict": "pass"},
    {"verdict": "fail"},
    {"result": "any"},
    {"eval": {"op": "equals", "value": "ok"}},
    {"not": {"eval": {"op": "equals", "value": "error"}}},
    {"output": {"path": "$.n", "op": "gt", "value": 1}},
    {"all": [{"result": "success"}, {"output": {"path": "$.n", "op": "equals", "value": 1}}]},
    {"verdict": "blocked"},
    {"edge": {"from": "a", "to": "b", "at_least": 2}},
    {"failure_type": "vulnerability"},
)


class Drawn:
    """A line, with some guarantees about it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.keys = list(STATIONS[: self.random.randint(2, 5)])
        self.gates = list(GATES[: self.random.randint(0, 2)])
        self.document = self._document()

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, *of: Any) -> Any:
        return self.random.choice(of)

    def _document(self) -> Json:
        document: Json = {
            "gateline": 1,
            "key": "drawn",
            "preset": self.pick("alp", "alp", "contenox", "vibe-factory", "flux", "aeef"),
            "stations": [self._station(key) for key in self.keys],
            "gates": [self._gate(key) for key in self.gates],
        }
        if self.chance(0.6):
            document["jumps"] = self.pick("all", [], [], [self.pick(*self.keys, "completed")])
        if self.chance(0.25):
            document["stations"][-1]["join"] = {
                "wait_for": self.random.sample(self.keys[:-1], min(2, len(self.keys) - 1)),
                "aggregation": self.pick("all-pass", "all-pass", "any-pass", "majority-pass", "none"),
            }
        document["policy"] = self._policy()
        if self.chance(0.15):
            document["limits"] = {"cost_usd": self.random.randint(1, 9)}
        document["guarantees"] = [self.guarantee(f"p{n}") for n in range(3)]
        return document

    def _policy(self) -> Json:
        policy: Json = {}
        if self.chance(0.3):
            policy["on_failure"] = self.pick("halt", "stuck", "fallback", f"station:{self.pick(*self.keys)}")
        if self.chance(0.2):
            policy["on_reject"] = self.pick(
                "fail", "rework", f"route:{self.pick(*self.keys)}", "reviewer_chooses"
            )
        if self.chance(0.2):
            policy["revisit"] = self.pick("forbid", "allow", "limit:1")
        if self.chance(0.1):
            policy["failure_rules"] = False
        if self.chance(0.15):
            policy["visit_cap"] = self.random.randint(2, 6)
        return policy

    def _station(self, key: str) -> Json:
        station: Json = {"key": key, "rules": [self._rule(key, n) for n in range(self.random.randint(0, 3))]}
        if self.gates and self.chance(0.3):
            station["gate"] = self.pick(*self.gates)
        limits: Json = {}
        if self.chance(0.35):
            limits["max_visits"] = self.random.randint(1, 3)
        if self.chance(0.6):
            limits["max_retries"] = self.random.randint(0, 1)
        if self.chance(0.2):
            station["work"] = {"kind": "agent", "agent": "claude", "prompt": "Do it."}
            limits["cost_usd"] = self.random.randint(1, 4)
        return {**station, "limits": limits} if limits else station

    def _rule(self, key: str, number: int) -> Json:
        rule: Json = {"id": f"{key}{number}", "to": self._target()}
        when = self.pick(*WHENS)
        if when is not None:
            rule["when"] = when
        if self.gates and self.chance(0.35):
            rule["gates"] = self.random.sample(self.gates, self.random.randint(1, len(self.gates)))
        if self.chance(0.3):
            rule["max_retries"] = self.random.randint(0, 2)
        if self.chance(0.15):
            rule["max_visits"] = self.random.randint(1, 3)
        if self.chance(0.3):
            rule["on_exhausted"] = self.pick(
                "fail", "stuck", "escalate", {"to": self.pick(*self.keys, "completed")}
            )
        if self.chance(0.1):
            rule["allow_revisit"] = self.chance(0.5)
        if self.chance(0.1):
            rule["compose"] = [{"var": "v", "path": "$.n"}]
        return rule

    def _target(self) -> Any:
        draw = self.random.random()
        if draw < 0.6:
            return self.pick(*self.keys)
        if draw < 0.8:
            return self.pick("completed", "failed")
        if draw < 0.86:
            return "@origin"
        if draw < 0.9:
            return "@blocked"
        return self.random.sample(self.keys, min(2, len(self.keys)))

    def _gate(self, key: str) -> Json:
        gate: Json = {
            "key": key,
            "mode": self.pick("manual", "manual", "manual", "auto", "checks_then_manual", "skip"),
        }
        if gate["mode"] != "manual":
            action = self.pick("hold", "rework", "abort", "proceed")
            gate["checks"] = {
                "all": [{"field": "output.n", "operator": "equals", "value": 1, "action": action}]
            }
        gate["offers"] = [
            "approve",
            *(w for w in ("send_back", "reject", "rework", "abort") if self.chance(0.6)),
        ]
        gate["approval"] = {"max_rounds": self.random.randint(0, 2)}
        return gate

    def guarantee(self, key: str) -> Json:
        places = [*self.keys, "completed", "failed", *self.gates]
        form = self.random.randint(0, 6)
        if form <= 1:
            without = self.pick(*self.keys, *self.gates, *self.gates)
            return {"id": key, "never": {"reach": self.pick(*places), "without": without}}
        if form == 2 and self.gates:
            after = {"gate": self.pick(*self.gates), "word": self.pick("reject", "send_back")}
            return {"id": key, "after": after, "never": {"reach": self.pick(*places)}}
        if form <= 4:
            return {
                "id": key,
                "at_most": {"visit": self.pick(*self.keys), "times": self.random.randint(1, 9)},
            }
        if form == 5:
            return {"id": key, "ends_within": self.random.randint(2, 20)}
        return {"id": key, "cost_at_most": str(self.random.randint(1, 40))}
