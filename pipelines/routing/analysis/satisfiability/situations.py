"""A box as one full situation, run through the rules of the very engine before anybody sees it.

Nothing here is believed: what the walk of `decide` says about the situation is what counts, on the line as it is.
Where a gate asks a person on the way, the word that the claim needs is said there, and it is decided again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pipelines.routing.analysis.satisfiability.effort import spend_effort
from pipelines.routing.analysis.satisfiability.search_failures import Unknown
from pipelines.routing.basics.bounds import EvaluationBudget, EvaluationFailed, NotAnswered
from pipelines.routing.basics.outcome import FORCED
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.decisions import DecisionAnswer, TestedRules, Wait
from pipelines.routing.decide.situation import Situation, read_situation
from pipelines.routing.decide.steps.routing_context import RoutingContext, TakenRoute
from pipelines.routing.document.algebra import condition_holds
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import Rule

DECISION, DECISION_RULE, ANSWER, WALKED_PATH = 100, 20, 20, 20
"""What running `decide` costs, each rule that it may have to test, each answer that it reads, and each operand whose
path has to be walked: one with `$`, which may have wildcards and filters."""
APPROVE, REWORK = "approve", "rework"
MOST_WORDS = 6
"""Words that people say one after the other in one situation."""


@dataclass(frozen=True, slots=True)
class WitnessWord:
    """A person's vote that a witness needs, and at which opening of the gate it is cast: that of the station
    where `rule` is None, else that of the rule."""

    gate: str
    word: str
    rule: str | None = None

    def to_dict(self) -> dict[str, Any]:
        opening = "station" if self.rule is None else "rule"
        return {"gate": self.gate, "word": self.word, "opening": opening, "rule": self.rule}


@dataclass(frozen=True, slots=True)
class Witness:
    """A situation, as `decide` reads it, and what it decides. `words`: those of people that it needs."""

    situation: dict[str, Any]
    decision: dict[str, Any]
    rule: str | None
    words: tuple[WitnessWord, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        words = [word.to_dict() for word in self.words]
        return {"situation": self.situation, "decision": self.decision, "words": words}


@dataclass(frozen=True, slots=True)
class TestedSituation:
    """Decision of `decide` on a situation; `tested`: the rules in the order of testing, each with its result."""

    decision: DecisionAnswer
    situation: dict[str, Any]
    tested: tuple[tuple[str, bool | str], ...]
    words: tuple[WitnessWord, ...] = ()

    @property
    def matches(self) -> tuple[str, ...]:
        return tuple(rule for rule, result in self.tested if result is True)

    @property
    def first_pass(self) -> tuple[tuple[str, bool | str], ...]:
        """Results of the first pass through the rules, up to the first that is true."""
        for at, (_rule, result) in enumerate(self.tested, 1):
            if result is True:
                return self.tested[:at]
        return self.tested

    def matches_none_of(self, rules: tuple[Rule, ...]) -> bool:
        """Return whether the first pass tested all of these rules and none was true."""
        # Fewer may have been tested than there are: the last line asks for that
        for (tested, result), rule in zip(self.tested, rules, strict=False):
            if result is not False or tested != rule.id:
                return False
        return len(self.tested) >= len(rules)

    def is_true_of(self, rule: Rule) -> bool:
        """Return whether the rule's condition is true when rules are first tested."""
        first = next((part for part in self.decision.trace.parts if isinstance(part, TestedRules)), None)
        if first is None:
            return False
        # Steps that no analysis is charged for: the decision itself was counted.
        first.view.steps = EvaluationBudget(again=True)
        try:
            return rule.test(first.view)
        except (EvaluationFailed, NotAnswered):
            return False

    def to_witness(self) -> Witness:
        matches = self.matches
        return Witness(
            self.situation, self.decision.to_stored_dict(), matches[0] if matches else None, self.words
        )


@dataclass(frozen=True, slots=True)
class WalkClaim:
    """Walk that a situation has to demonstrate. `matches`: the rules that are taken one after the other; a gate
    demands rework of each but the last. None: no rule matches in the first pass. `word`: the vote at the
    gate of the station. `also`: further rules that are true when rules are first tested."""

    matches: tuple[Rule, ...] | None
    word: str = APPROVE
    also: tuple[Rule, ...] = ()

    def is_true_of_walk(self, walk: TestedSituation, rules: tuple[Rule, ...]) -> bool:
        if self.matches is None:
            return walk.matches_none_of(rules)
        rule_ids = tuple(rule.id for rule in self.matches)
        if rule_ids and not self._matches_first(walk, rules):
            return False
        return walk.matches[: len(rule_ids)] == rule_ids and all(map(walk.is_true_of, self.also))

    def _matches_first(self, walk: TestedSituation, rules: tuple[Rule, ...]) -> bool:
        assert self.matches
        before = rules[: rule_index(rules, self.matches[0])]
        return walk.matches_none_of(before) and walk.tested[len(before) : len(before) + 1] == (
            (self.matches[0].id, True),
        )


def walk_situation(line: ParsedLine, raw_situation: dict[str, Any], situation: Situation) -> TestedSituation:
    decision = decide(line, situation)
    return TestedSituation(decision, raw_situation, decision.trace.rule_results)


def find_claimed_walk(
    line: ParsedLine, situations: Iterable[dict[str, Any]], claim: WalkClaim
) -> TestedSituation:
    """The first situation that `decide` takes as claimed, on this very line. Raises Unknown."""
    for raw_situation, situation in _read_situations(situations):
        station = line.station(situation.station)
        spend_effort(DECISION_RULE * len(station.rules) + WALKED_PATH * station.jsonpath_count)
        walk = _walk_with_words(line, raw_situation, situation, claim)
        if claim.is_true_of_walk(walk, station.rules):
            return walk
    raise Unknown(
        "no situation was found that `decide` takes so (a path with wildcards or filters, or a gate)"
    )


def _walk_with_words(
    line: ParsedLine, raw_situation: dict[str, Any], situation: Situation, claim: WalkClaim
) -> TestedSituation:
    """Decided, with the words of people that the claim needs, each said where a gate asks."""
    words: tuple[WitnessWord, ...] = ()
    walk = walk_situation(line, raw_situation, situation)
    while len(words) < MOST_WORDS and (word := _next_word_or_none(line, walk, words, claim)) is not None:
        words = (*words, word)
        raw_situation = _situation_with_gate_word(raw_situation, word)
        spend_effort(DECISION)
        decision = decide(line, read_situation(raw_situation))
        walk = TestedSituation(decision, raw_situation, decision.trace.rule_results, words)
    return walk


def _next_word_or_none(
    line: ParsedLine, walk: TestedSituation, words: tuple[WitnessWord, ...], claim: WalkClaim
) -> WitnessWord | None:
    """Return the next vote to add; None where no gate asks or the required rule is reached."""
    decision = walk.decision
    if not isinstance(decision, Wait) or decision.status != "awaiting_review" or claim.matches == ():
        return None
    if decision.rule is None:
        word, gates = claim.word, decision.gates
    else:
        demanding = [rule.id for rule in (claim.matches or ())[:-1]]
        if decision.rule not in demanding:
            return None
        word, gates = REWORK, decision.gates
    spoken = {earlier.gate for earlier in words}
    for key in gates:
        if key not in spoken and key in line.gates_by_key and word in line.gate(key).offers:
            return WitnessWord(key, word, decision.rule)
    return None


def _situation_with_gate_word(raw_situation: dict[str, Any], word: WitnessWord) -> dict[str, Any]:
    facts = raw_situation.get("facts", {})
    gates = {**facts.get("gates", {}), word.gate: {"decision": word.word}}
    return {**raw_situation, "facts": {**facts, "gates": gates}}


def check_true_of_all(
    line: ParsedLine, situations: Iterable[dict[str, Any]], rules: tuple[Rule, ...]
) -> None:
    """Check that in one of the situations each rule's condition is true when it is first tested, on a path
    where nothing but an approval comes before the rules. Raises Unknown."""
    if not any(_are_conditions_true(line, situation, rules) for _, situation in _read_situations(situations)):
        raise Unknown("no situation was found that is true of both (a path with wildcards or filters)")


def _read_situations(situations: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], Situation]]:
    """Yield each raw situation with its parsed form, skipping those nested deeper than an outcome may be."""
    for raw_situation in situations:
        spend_effort(DECISION + ANSWER * len(raw_situation.get("facts", {}).get("answers", ())))
        try:
            situation = read_situation(raw_situation)
        except Malformed:
            continue
        yield raw_situation, situation


def _are_conditions_true(line: ParsedLine, situation: Situation, rules: tuple[Rule, ...]) -> bool:
    case = RoutingContext(line, situation)
    recorded = case.recorded
    if situation.outcome.signals:
        # Only used-up `rework` signals come here: they make the verdict fail (law §5, step 3).
        recorded = recorded.with_verdict("fail")
    elif recorded.outcome_state == "blocked":
        # As the fallback shows a blocked outcome to the rules (law §5, step 4)
        recorded = FORCED["blocked"]
    view = case.condition_view(TakenRoute(recorded))
    try:
        return all(condition_holds(rule.when, view) for rule in rules)
    except EvaluationFailed:
        return False


def rule_index(rules: tuple[Rule, ...], target: Rule) -> int:
    """Return the index of the rule by id: rules are long to compare. Raises ValueError."""
    for index, rule in enumerate(rules):
        if rule.id == target.id:
            return index
    raise ValueError(target.id)
