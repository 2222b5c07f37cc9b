"""Whole ways along a line: from the start, outcome after outcome, with the facts that each decision leaves behind.

Every station is drawn in full. What a decision does to the facts (law §5 step 9, Counting) is written here
once: what is compared is that both readings decide alike at each step of a long way, with counts that really grew.
"""

from collections.abc import Callable
from typing import Any

from .draw_conditions import ANSWER_WORDS
from .generator import Maker
from .values import Json

MAX_STEPS = 40
Fields = dict[str, Any]


class Walk(Maker):
    """One line, and a task on it."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.document = self.make_document()
        self.document["stations"] = [self._in_full(key) for key in self.stations]
        self._name_rules_anew()
        self.here = self.stations[0]
        self.facts: Fields = {
            "visits": {self.here: 1},
            "edges": {},
            "rules": {},
            "visited": [self.here],
            "context": self.context,
            "signal_reworks": 0,
            "rounds": {},
            "preconditions": {"handoff": self.chance(0.8)},
            "failures": {},
            "open_escalations": int(self.chance(0.05)),
        }
        self._new_job()

    def make_outcome(self) -> Fields:
        """Half of them plain, so that ways grow long."""
        outcome = super().make_outcome()
        return {"result": "success", "output": self.make_object()} if self.chance(0.5) else outcome

    def make_policy(self) -> Fields:
        """Half of them let a task go round."""
        policy = super().make_policy()
        loose = {
            "revisit": "allow",
            "no_match": "default",
            "on_failure": f"station:{self.pick(*self.stations)}",
        }
        return policy if self.chance(0.5) else {**policy, **loose, "visit_cap": 9}

    def _in_full(self, key: str) -> Fields:
        self.here = key
        station = self.make_station(key)
        for rule in station.get("rules", []):
            rule["id"] = f"{key}-{rule['id']}"
        return station

    def _name_rules_anew(self) -> None:
        """Budgets name rules as they are called by now."""
        known = [rule["id"] for station in self.document["stations"] for rule in station.get("rules", ())]
        for budget in self.document.get("budgets", ()):
            if "rules" in budget and known:
                budget["rules"] = [self.pick(*known)]
        if not known:
            self.document.pop("budgets", None)

    def _new_job(self) -> None:
        self.outcome = self.make_outcome()
        self.facts["gates"], self.facts["answers"] = {}, []

    def situation(self) -> Fields:
        """As `decide` reads it."""
        return {"station": self.here, "outcome": self.outcome, "facts": self.facts}

    def go(self, decision: Fields) -> bool:
        """What the decision leads to; whether there is something to decide after it."""
        kind = decision["decision"]
        if kind == "move":
            self._move(decision)
        elif kind == "ask":
            self._answer(decision["evaluation"], self.chance(0.1))
        elif kind == "wait":
            self._free(decision)
        return kind in ("move", "ask", "wait")

    def _move(self, decision: Fields) -> None:
        """ "Effects: variables; merge the output into the context; visits + 1, edge + 1". Of a fork one branch is
        followed."""
        target = self.pick(*decision["to"])
        by, rule, facts = decision["by"], decision["rule"], self.facts
        edge = f"{self.here}->{target}"
        facts["edges"] = {**facts["edges"], edge: facts["edges"].get(edge, 0) + 1}
        if rule is not None and by != "policy":
            facts["rules"] = {**facts["rules"], rule: facts["rules"].get(rule, 0) + 1}
        failure = self.outcome.get("failure_type")
        if failure is not None:
            name = f"{self.here}:{failure}"
            facts["failures"] = {**facts["failures"], name: facts["failures"].get(name, 0) + 1}
        if rule is not None and target != self.here:
            facts["origin"] = self.here
        facts["variables"] = {**facts.get("variables", {}), **decision["variables"]}
        output, failed = self.outcome.get("output"), self.outcome.get("result") in ("failure", "cancelled")
        if isinstance(output, dict) and not failed:
            facts["context"] = {**facts["context"], **output}
        again = by == "signal" and target == self.here and rule is None
        facts["signal_reworks"] = facts["signal_reworks"] + 1 if again else 0
        for key, word in facts["gates"].items():
            if word["decision"] == "send_back":
                facts["rounds"] = {**facts["rounds"], key: facts["rounds"].get(key, 0) + 1}
        self._enter(target)

    def _enter(self, target: str) -> None:
        visits = self.facts["visits"]
        self.facts["visits"] = {**visits, target: visits.get(target, 0) + 1}
        self.facts["visited"] = sorted({*self.facts["visited"], target})
        self.here = target
        self._new_job()

    def _answer(self, evaluation: Fields, nobody: bool) -> None:
        word = "unanswered" if nobody else self.pick(*ANSWER_WORDS[next(iter(evaluation))])
        self.facts["answers"] = [*self.facts["answers"], {**evaluation, "answer": word, "text": "Because."}]

    def _free(self, decision: Fields) -> None:
        """What a waiting token waits for happens."""
        if decision["status"] == "awaiting_review":
            words = {key: self.make_word() for key in decision["gates"]}
            self.facts["gates"] = {**self.facts["gates"], **words}
        elif decision["status"] == "held":
            missing = ["agent" if name.startswith("agent:") else name for name in decision["missing"]]
            met = dict.fromkeys([*self.facts["preconditions"], *missing], True)
            self.facts["preconditions"] = {key: met[key] for key in met if key != "no_open_escalation"}
            self.facts["open_escalations"] = 0
        elif decision["evaluation"] is not None:
            self._answer(decision["evaluation"], nobody=False)
        else:
            self._enter(self.here)  # the answer of a person: the station runs again


def walk(seed: int, decided: Callable[[Fields, Fields], Json]) -> int:
    """Goes one way; `decided(document, situation)` answers the decision. The number of decisions."""
    one = Walk(seed)
    for step in range(1, MAX_STEPS + 1):
        decision = decided(one.document, one.situation())
        if not isinstance(decision, dict) or not one.go(decision):
            return step
    return MAX_STEPS
