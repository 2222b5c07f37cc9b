"""Sample of a difference: a situation that both versions decide, and decide otherwise; nothing is shown that
was not run.

The solver gives a situation of the region; which facts bring the difference to light (a gate passed or
refused, a budget spent, an open escalation) is tried here, the simplest first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pipelines.routing.analysis.difference.routing_effects import LinePair
from pipelines.routing.analysis.satisfiability.document_guesses import documents_with_leaf_at_path
from pipelines.routing.analysis.satisfiability.effort import spend_effort
from pipelines.routing.basics import jsontext
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.basics.values import MISSING
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.decisions import Ask, DecisionAnswer, Escalate, Finish, Move, Stuck, Wait
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.document.algebra import OutputTest, condition_leaf_tests
from pipelines.routing.document.evaluations import evaluation_key
from pipelines.routing.document.gates import Gate
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import ORIGIN, Rule

MAX_TRIES = 400
DECISION = 120
"""What two decisions cost, in the units of `satisfiability.effort`."""

Situation = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """`old` and `new`: what each version decides of the situation, without the trace."""

    situation: Situation
    old: dict[str, Any]
    new: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return {"situation": self.situation, "old": self.old, "new": self.new}


def routing_part_of_decision(decision: DecisionAnswer) -> tuple[Any, ...]:
    """Return all of a decision that routes: no rule, no message, no `by`, no order within a fork."""
    if isinstance(decision, Move):
        variables = jsontext.dumps(sorted(decision.variables.items()))
        return ("move", frozenset(decision.to), decision.feedback, variables)
    if isinstance(decision, Finish):
        return ("finish", decision.end, decision.end_kind, decision.error)
    if isinstance(decision, Wait):
        evaluation = _evaluation_key_or_none(decision.evaluation)
        return ("wait", decision.status, decision.gates, frozenset(decision.to), decision.missing, evaluation)
    if isinstance(decision, Ask):
        return ("ask", _evaluation_key_or_none(decision.evaluation))
    if isinstance(decision, Escalate):
        return ("escalate", decision.trigger)
    assert isinstance(decision, Stuck)
    return ("stuck", decision.error)


def _evaluation_key_or_none(evaluation: Any) -> str | None:
    return None if evaluation is None else evaluation_key(*next(iter(evaluation.items())))


def first_sample_decided_otherwise_or_none(pair: LinePair, situations: Iterator[Situation]) -> Sample | None:
    """The first of the situations that the two versions decide otherwise."""
    for candidate in islice(situations, MAX_TRIES):
        spend_effort(DECISION)
        try:
            situation = read_situation(candidate)
            old, new = decide(pair.old, situation), decide(pair.new, situation)
        except Malformed:
            # A situation that was made up may be none at all.
            continue
        if routing_part_of_decision(old) != routing_part_of_decision(new):
            return Sample(candidate, _plain_decision(old), _plain_decision(new))
    return None


def _plain_decision(decision: DecisionAnswer) -> dict[str, Any]:
    return decision.to_stored_dict()


def situations_telling_rules_apart(
    pair: LinePair, situation: Situation, old: Rule | None, new: Rule | None
) -> Iterator[Situation]:
    """The situation, then the same with facts that could tell the effects of the two rules apart."""
    sides = [(line, rule) for line, rule in ((pair.old, old), (pair.new, new)) if rule is not None]
    gates = {key: (line.gate(key), line) for line, rule in sides for key in rule.gates}
    passed = {"gates": {key: {"decision": "approve"} for key in gates}}
    for base in (situation, *_situations_for_compose_paths(situation, sides)):
        yield base
        if gates:
            yield situation_with_merged_facts(base, passed)
        yield _situation_with_answer_texts(situation_with_merged_facts(base, passed))
        for facts in _facts_of_each_origin(pair, sides):
            yield situation_with_merged_facts(base, {**passed, **facts})
    for facts in _facts_at_edge_of_budgets(pair, situation["station"], sides):
        yield situation_with_merged_facts(situation, {**passed, **facts})
    yield from (
        situation_with_merged_facts(situation, {**passed, **refusal})
        for refusal in facts_with_each_gate_refusing(pair, passed["gates"], gates)
    )
    if "signals" not in situation["outcome"]:
        proceeds = {**situation["outcome"], "signals": [{"verdict": "proceed"}]}
        yield {**situation, "outcome": proceeds}
    for outcome in outcomes_at_check_values(situation["outcome"], [gate for gate, _ in gates.values()]):
        yield {**situation, "outcome": outcome}
        yield situation_with_merged_facts({**situation, "outcome": outcome}, passed)


def situation_with_merged_facts(situation: Situation, facts: dict[str, Any]) -> Situation:
    """Return the situation with these facts added. Facts that are maps are merged one level deep."""
    have = dict(situation.get("facts", {}))
    for key, value in facts.items():
        have[key] = {**have.get(key, {}), **value} if isinstance(value, dict) else value
    return {**situation, "facts": have} if any(have.values()) else situation


def _situation_with_answer_texts(situation: Situation) -> Situation:
    """Return the situation with texts of its evaluations, which become feedback."""
    facts = situation.get("facts", {})
    answers = [{**answer, "text": "why"} for answer in facts.get("answers", ())]
    return {**situation, "facts": {**facts, "answers": answers}} if answers else situation


def _facts_of_each_origin(pair: LinePair, sides: list[tuple[ParsedLine, Rule]]) -> Iterator[dict[str, Any]]:
    if any(rule.to == (ORIGIN,) for _, rule in sides):
        yield from ({"origin": key} for key in shared_station_keys(pair))


def shared_station_keys(pair: LinePair) -> list[str]:
    return [station.key for station in pair.new.stations if station.key in pair.old.stations_by_key]


def _facts_at_edge_of_budgets(
    pair: LinePair, station: str, sides: list[tuple[ParsedLine, Rule]]
) -> Iterator[dict[str, Any]]:
    """Budgets of the rules and of what they lead to, each at its edge."""
    retry_limits = {limit for _, rule in sides if (limit := rule.max_retries) is not None}
    retry_limits |= {limit for line, _ in sides if (limit := line.policy.self_loop_limit) is not None}
    for count in sorted(retry_limits):
        yield {"rules": {rule.id: count for _, rule in sides}}
    targets = {key for _, rule in sides for key in rule.to if key in pair.new.stations_by_key}
    entered = {limit for _, rule in sides if (limit := rule.max_visits) is not None}
    revisits = {
        revisit_limit + 1 for line, _ in sides if (revisit_limit := line.policy.revisit_limit) is not None
    }
    # 1 is the edge of `revisit: forbid`.
    for count in sorted(entered | revisits | {1}):
        for key in sorted(targets):
            yield {"visits": {key: count}, "visited": sorted({station, key})}
    yield {"open_escalations": 1}


def facts_with_each_gate_refusing(
    pair: LinePair, approved: dict[str, Any], gates: dict[str, tuple[Gate, ParsedLine]]
) -> Iterator[dict[str, Any]]:
    """Yield facts in which each gate refuses in each way, the others approve."""
    for key, (gate, _) in gates.items():
        rounds = {
            line.gate(key).approval.max_rounds for line in (pair.old, pair.new) if key in line.gates_by_key
        }
        for word in dict.fromkeys((*gate.offers, "reject", "send_back", "rework", "abort")):
            vote = {"decision": word} | ({"route": "fail"} if word == "reject" else {})
            facts = {"gates": {**approved, key: vote}}
            yield facts
            if word == "send_back":
                yield from ({**facts, "rounds": {key: count}} for count in sorted(rounds))


def _situations_for_compose_paths(
    situation: Situation, sides: list[tuple[ParsedLine, Rule]]
) -> Iterator[Situation]:
    """Outputs in which the paths of `compose` find something, and none at all."""
    paths = {entry.path.text for _, rule in sides for entry in rule.compose if entry.path}
    if not any(rule.compose for _, rule in sides):
        return
    outcome = situation["outcome"]
    output = outcome.get("output", MISSING)
    shapes = [
        shape
        for path in sorted(paths)
        if path.startswith("$")
        for shape in documents_with_leaf_at_path(path, "found")
    ]
    shapes += [{path: "found"} for path in sorted(paths) if not path.startswith("$")]
    merged_output: Any = output if type(output) is dict else {}
    # A bound: each path of a condition offers several shapes
    for shape in shapes[:8]:
        if type(shape) is dict:
            merged_output = {**shape, **merged_output}
    yield {**situation, "outcome": {**outcome, "output": merged_output}}
    if output is MISSING:
        yield from ({**situation, "outcome": {**outcome, "output": shape}} for shape in shapes[:8])
        yield {**situation, "outcome": {**outcome, "output": "found"}}


def outcomes_at_check_values(outcome: dict[str, Any], gates: list[Gate]) -> Iterator[dict[str, Any]]:
    """Yield outcomes with the values that the checks of the gates compare with, and with neighbours of those."""
    for gate in gates:
        for check in gate.checks.checks() if gate.checks else ():
            for value in _value_and_neighbours(check.value):
                variant = _outcome_with_check_field_or_none(outcome, check.field, value)
                if variant is not None:
                    yield variant


_PASSES: dict[str, Callable[[Any], Any]] = {
    "not_equals": lambda value: "other" if value != "other" else "another",
    "less_than": lambda value: value - 1,
    "greater_than": lambda value: value + 1,
    "in": lambda value: value[0] if value else None,
    "exists": lambda value: 1,
}


def passing_outcome(outcome: dict[str, Any], gate: Gate) -> dict[str, Any]:
    """The outcome with what the checks of the gate ask for, as far as an outcome says it."""
    for check in gate.checks.checks() if gate.checks else ():
        value = _PASSES.get(check.operator, lambda value: value)(check.value)
        outcome = _outcome_with_check_field_or_none(outcome, check.field, value) or outcome
    return outcome


def outputs_at_condition_values(rule: Rule) -> Iterator[dict[str, Any]]:
    """Yield objects in which the operands of the rule's condition find the values that they compare with, and
    neighbours of those."""
    for test in condition_leaf_tests(rule.when):
        if not isinstance(test, OutputTest):
            continue
        for value in _value_and_neighbours(test.value):
            shapes = (
                documents_with_leaf_at_path(test.path.text, value)
                if not test.path.is_key
                else iter([{test.path.text: value}])
            )
            yield from (shape for shape in shapes if type(shape) is dict)


def _value_and_neighbours(value: Any) -> list[Any]:
    # Not isinstance: true is an int to Python, too, and has no neighbours
    if type(value) is int:
        return [value, value + 1, value - 1]
    if type(value) is float:
        return [value, value + 1.0, value - 1.0]
    return [*value, "other"] if type(value) is list else [value, "other", 0, 1]


_OUTCOME_FIELDS = ("exit_code", "failure_type", "eval")


def _outcome_with_check_field_or_none(
    outcome: dict[str, Any], field: str, value: Any
) -> dict[str, Any] | None:
    family, _, rest = field.partition(".")
    if field == "exit_code":
        return {**outcome, field: value} if type(value) is int else None
    if field in _OUTCOME_FIELDS:
        return {**outcome, field: value} if type(value) is str else None
    if family == "output" and rest:
        output = outcome.get("output", MISSING)
        return {**outcome, "output": {**(output if type(output) is dict else {}), rest: value}}
    if family in ("usage", "cost_usd", "tokens_in", "tokens_out"):
        return {**outcome, "usage": {**outcome.get("usage", {}), (rest or family): value}}
    return None
