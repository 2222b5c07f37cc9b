"""A recorded decision led through its gates: whom it asks, and where it leads when everybody approves whose
vote is not recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from pipelines.routing.analysis.redecide.decided_effect import DecidedEffect, decided_effect
from pipelines.routing.analysis.redecide.recorded_decision import answer_without_trace
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.decisions import DecisionAnswer, Wait
from pipelines.routing.decide.situation import GateWord, Situation
from pipelines.routing.document.model import ParsedLine

APPROVED = GateWord("approve")


@dataclass(frozen=True)
class RedecidedWalk:
    """`asked`: the gates at which a person is asked, in order. `assumed`: those of them where nobody's word is
    recorded, so that an approval was assumed. `steps`: the decisions, the last one is where it leads."""

    asked: tuple[str, ...]
    assumed: tuple[str, ...]
    steps: tuple[DecisionAnswer, ...]

    @property
    def last_decision(self) -> DecisionAnswer:
        return self.steps[-1]

    @cached_property
    def effect(self) -> DecidedEffect:
        return decided_effect(answer_without_trace(self.last_decision))


def walk_gates(
    line: ParsedLine, situation: Situation, initial_words: Mapping[str, GateWord] | None = None
) -> RedecidedWalk:
    """Lead the decision on this situation through its gates under this line. A recorded vote counts only at a
    gate that this line asks at. `initial_words`: votes that count from the start. Raises SituationError."""
    words = dict(initial_words or {})
    gate_keys: list[str] = []
    assumed: list[str] = []
    steps: list[DecisionAnswer] = []
    while True:
        steps.append(decide(line, situation_with_votes(situation, words)))
        fresh = [key for key in _asking_gates(steps[-1]) if key not in words]
        if not fresh:
            return RedecidedWalk(tuple(gate_keys), tuple(assumed), tuple(steps))
        for key in fresh:
            word = situation.facts.gates.get(key)
            # Nobody spoke there: what would follow an approval is what is asked.
            if word is None or word.decision is None:
                word = APPROVED
                assumed.append(key)
            gate_keys.append(key)
            words[key] = word


def situation_with_votes(situation: Situation, words: Mapping[str, GateWord]) -> Situation:
    if situation.facts.gates == words:
        return situation
    return replace(situation, facts=replace(situation.facts, gates=dict(words)))


def _asking_gates(decision: DecisionAnswer) -> tuple[str, ...]:
    asks = isinstance(decision, Wait) and decision.status == "awaiting_review"
    return decision.gates if isinstance(decision, Wait) and asks else ()
