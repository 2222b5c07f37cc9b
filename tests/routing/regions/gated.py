"""What is claimed of the rules behind the gate of a station, held against the line itself: every witness decided by
`decide` and by the second reading, everything that never matches attacked with drawn situations in which people say
what is offered where a gate asks."""

from __future__ import annotations

import copy
import json
from collections import Counter
from random import Random
from typing import Any

from pipelines.routing.analysis.satisfiability.effort import limiting_effort
from pipelines.routing.analysis.satisfiability.first_match_analysis import FirstMatchAnalysis
from pipelines.routing.analysis.satisfiability.liveness import DEAD, UNKNOWN
from pipelines.routing.analysis.satisfiability.situations import Witness
from pipelines.routing.analysis.satisfiability.statuses import STANDINGS
from pipelines.routing.basics.outcome import DerivedOutcome
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.decisions import DecisionAnswer, TestedRules, Wait
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.document.line import ParsedLine, read_line
from pipelines.routing.document.rules import Rule
from tests.routing.interpreter import decide as second_reading
from tests.routing.regions.gated_lines import GatedLine, Json

UNITS = 5_000_000
"""Of work for one station, as lint allows."""


class Refuted(AssertionError):
    """A claim that does not hold."""


class Claims:
    """Those of one line, and how often each was tried."""

    def __init__(self, seed: int, counted: Counter[str], document: Json | None = None) -> None:
        self.drawn = GatedLine(seed)
        self.document = document or self.drawn.document
        self.line: ParsedLine = read_line(copy.deepcopy(self.document), keep_faulty_rules=True)
        self.counted = counted
        self.random = Random(seed)
        station = self.line.station("a")
        with limiting_effort(UNITS):
            self.analysis = FirstMatchAnalysis(self.line, station)
            self.standings = self.analysis.rule_liveness
            self.rests = {name: self.analysis.outcomes_no_rule_takes(name) for name in STANDINGS}
            self.constants = {
                each.rule.id: self.analysis.constant_truth_of_rule(each.rule) for each in self.standings
            }

    def hold(self, attempts: int) -> None:
        """Raises Refuted at the first that does not."""
        self._witnesses()
        dead = {each.rule.id for each in self.standings if each.status == DEAD}
        for situation in self.drawn.situations(attempts):
            self._attack(situation, dead)

    # What is shown

    def _witnesses(self) -> None:
        for standing in self.standings:
            self.counted["rules"] += 1
            self.counted[standing.status] += 1
            if standing.status == UNKNOWN:
                self.counted[f"unknown: {standing.why}"] += 1
            self._expect((standing.witness is None) == (standing.status in (DEAD, UNKNOWN)), standing)
            if standing.witness is not None:
                rules = [*([standing.after_rework] if standing.after_rework else []), standing.rule.id]
                self._expect(self._decided(standing.witness)[: len(rules)] == rules, standing)
            if standing.instead is not None:
                self._expect(self._decided(standing.instead)[:1] != [standing.rule.id], standing)
                self._expect(self._is_true(standing.rule, standing.instead.situation), standing)
            for shadow in self.analysis.shadows(standing.rule) if standing.status != DEAD else ():
                if shadow.witness is not None:
                    self._expect(self._decided(shadow.witness)[:1] == [shadow.by], shadow)
                    self._expect(self._is_true(standing.rule, shadow.witness.situation), shadow)
        for name, rest in self.rests.items():
            self.counted["rests"] += 1
            if rest is None:
                self.counted["rests proved empty"] += 1
            elif rest.witness is None:
                self.counted["rests unknown"] += 1
            else:
                self._decided(rest.witness)
                walk = first_walk(self._decide(rest.witness.situation))
                self._expect(walk is not None and walk.result is False, rest)
                self._expect(seen_by(walk).outcome_state == name, rest)

    def _decided(self, witness: Witness) -> list[str]:
        """The rules that are true in it, one after the other. Both readings have to decide what is shown, and every
        word of people has to be said at a gate that asks."""
        self.counted["witnesses"] += 1
        decision = self._decide(witness.situation)
        self._expect(decision.to_stored_dict() == witness.decision, witness)
        self._is_spoken(witness)
        if not any(gate.sample for gate in self.line.gates):
            self.counted["witnesses read twice"] += 1
            second = second_reading(copy.deepcopy(self.document), copy.deepcopy(witness.situation))
            self._expect(_same(decision, second), (witness, second))
        return matches(decision)

    def _is_spoken(self, witness: Witness) -> None:
        """Without the last word the gate asks for it, and so on to the first."""
        situation = copy.deepcopy(witness.situation)
        gates = situation.get("facts", {}).get("gates", {})
        self._expect({word.gate: {"decision": word.word} for word in witness.words} == gates, witness)
        for word in reversed(witness.words):
            del situation["facts"]["gates"][word.gate]
            decision = self._decide(situation)
            asked = isinstance(decision, Wait) and word.gate in decision.gates and decision.rule == word.rule
            self._expect(asked and word.word in self.line.gate(word.gate).offers, (witness, word))

    def _is_true(self, rule: Rule, situation: Json) -> bool:
        """Whether the rule's condition is true when rules are first tested."""
        walk = first_walk(self._decide(situation))
        return walk is not None and rule.test(walk.view)

    # What is said never to happen

    def _attack(self, situation: Json, dead: set[str]) -> None:
        decision = self._decide(situation)
        for _ in range(8):
            self.counted["attacks"] += 1
            fired = set(matches(decision))
            self._expect(not fired & dead, (sorted(fired & dead), situation))
            self._first(decision, situation)
            word = self._next_word(decision, situation)
            if word is None:
                return
            situation = word
            decision = self._decide(situation)

    def _first(self, decision: DecisionAnswer, situation: Json) -> None:
        walk = first_walk(decision)
        if walk is None or walk.result not in (True, False):
            return
        if walk.result is False:
            rest = self.rests[seen_by(walk).outcome_state]
            self._expect(rest is not None or len(self.analysis.readable) < len(self.standings), situation)
        for standing in self.standings:
            constant = self.constants[standing.rule.id]
            if constant is not None:
                self._expect(standing.rule.test(walk.view) == constant, (standing, situation))

    def _next_word(self, decision: DecisionAnswer, situation: Json) -> Json | None:
        """The situation with one more word, where people are asked; they say rework most often."""
        if not isinstance(decision, Wait) or decision.status != "awaiting_review":
            return None
        gates = [self.line.gate(key) for key in decision.gates if key in self.line.gates_by_key]
        spoken = situation.get("facts", {}).get("gates", {})
        gates = [gate for gate in gates if gate.key not in spoken]
        if not gates:
            return None
        gate = self.random.choice(gates)
        liked = [word for word in gate.offers if word in ("approve", "rework")] or list(gate.offers)
        word: Json = {"decision": self.random.choice(liked)}
        if word["decision"] == "reject":
            word["route"] = "fail"
        facts = {**situation["facts"], "gates": {**spoken, gate.key: word}}
        return {**situation, "facts": facts}

    def _decide(self, situation: Json) -> DecisionAnswer:
        return decide(self.line, read_situation(situation))

    def _expect(self, holds: bool, about: Any) -> None:
        if not holds:
            raise Refuted(f"{about}\n{json.dumps(self.document)}")


def first_walk(decision: DecisionAnswer) -> TestedRules | None:
    return next((part for part in decision.trace.parts if isinstance(part, TestedRules)), None)


def seen_by(walk: TestedRules | None) -> DerivedOutcome:
    assert walk is not None
    return DerivedOutcome(walk.view.result, walk.view.verdict, walk.view.eval)


def matches(decision: DecisionAnswer) -> list[str]:
    return [rule for rule, result in decision.trace.rule_results if result is True]


def _same(decision: DecisionAnswer, second: Json) -> bool:
    """The second reading says no message."""
    return _bare(decision.to_stored_dict()) == _bare(second)


def _bare(decision: Json) -> Any:
    kept = {key: value for key, value in decision.items() if key not in ("trace", "message")}
    return json.loads(json.dumps(kept, default=float))
