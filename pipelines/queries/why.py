"""“Why is it here?”: a stored decision as a table of the rules that were tested, with what each of them saw."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Any

from pipelines.models import Decision, GateVisit
from pipelines.queries import versions
from pipelines.queries.decision_trace import TraceStep, decision_trace, gate_check_results, trace_steps
from pipelines.routing.document.line import ParsedLine, Rule
from pipelines.routing.sentences.conditions import Leaf, condition_leaves
from pipelines.routing.sentences.decisions import (
    deciding_gate_text_or_empty,
    decision_sentence,
    policy_summary,
)
from pipelines.routing.sentences.failures import failure_word
from pipelines.routing.sentences.names import gate_name, rule_name, station_name, target_name
from pipelines.routing.sentences.trace_notes import note_words

MATCHED, NO, NOT_TRIED, ASK, FAULT = "matched", "no", "not_tried", "ask", "error"
STOPPED = "stopped"
"""It matched, and its gate did not let the task through."""


@dataclass(slots=True)
class ConditionTest:
    """Line of a condition. `value` is None where it was never reached."""

    words: str
    value: str | None
    held: bool | None = None
    keys: tuple[str, ...] = ()


@dataclass(slots=True)
class RuleRow:
    number: int
    id: str
    label: str
    targets: str
    result: str
    tests: list[ConditionTest] = field(default_factory=list)
    gates: list[str] = field(default_factory=list)
    why: str = ""


@dataclass(slots=True)
class Explanation:
    """A decision, wherever it was made. `gates`: name, and what became of it."""

    station: str
    sentence: str
    rows: list[RuleRow]
    otherwise: str
    otherwise_used: bool
    notes: list[str]
    gates: list[tuple[str, str]]
    checks: list[dict[str, Any]]
    steps: list[TraceStep]


@dataclass(slots=True)
class DecisionExplanation(Explanation):
    """A stored one. `position` of `total`: which of the task's decisions this is, oldest first."""

    decision: Decision
    event: str = ""
    position: int = 0
    total: int = 0
    before: str = ""
    after: str = ""
    at: datetime | None = None

    @property
    def id(self) -> str:
        return str(self.decision.pk)

    @property
    def version(self) -> int:
        return self.decision.pinned.number

    @property
    def milliseconds(self) -> float:
        return self.decision.micros / 1000


def explain_decision(decision: Decision, visits: Iterable[GateVisit]) -> DecisionExplanation:
    """Explain it. `visits`: of the gates of its task."""
    line = versions.parsed_line_by_version_id(decision.pinned_id)
    explanation = explain_answer(line, decision.station, decision.answer, decision_trace(decision))
    explanation.gates = list(
        _visit_states(line, [visit for visit in visits if visit.asked_by_id == decision.pk])
    )
    return DecisionExplanation(
        **{attribute.name: getattr(explanation, attribute.name) for attribute in fields(explanation)},
        decision=decision,
        at=decision.at,
    )


def explain_answer(
    line: ParsedLine, key: str, answer: Mapping[str, Any], trace: Sequence[Mapping[str, Any]]
) -> Explanation:
    """`answer` and `trace` as the decision tool writes them."""
    station = line.stations_by_key.get(key)
    tested = {entry.get("rule"): entry for entry in trace if entry.get("step") == "rules"}
    rows = [
        _rule_row(line, number, rule, tested.get(rule.id))
        for number, rule in enumerate(station.rules if station else (), start=1)
    ]
    stopped = deciding_gate_text_or_empty(line, answer, trace)
    for row in rows:
        if stopped and row.id == answer.get("rule") and row.result == MATCHED:
            row.result, row.why = STOPPED, stopped
    return Explanation(
        station_name(line, key),
        decision_sentence(line, key, answer, stopped),
        rows,
        policy_summary(line, station),
        # The policy was asked: a signal or a gate may have decided before any rule was tested.
        answer.get("rule") is None and answer.get("by") in ("policy", None) and None in tested,
        _trace_note_sentences(line, trace),
        [],
        gate_check_results(line, trace),
        trace_steps(line, trace),
    )


def _rule_row(line: ParsedLine, number: int, rule: Rule, entry: Mapping[str, Any] | None) -> RuleRow:
    targets = ", ".join(target_name(line, key) for key in rule.to)
    row = RuleRow(number, rule.id, rule_name(line, rule.id), targets, NOT_TRIED)
    row.gates = [gate_name(line, key) for key in rule.gates]
    saw = list(entry.get("saw") or ()) if entry else []
    row.tests = condition_tests(line, rule, saw)
    if entry:
        row.result = {True: MATCHED, False: NO, "ask": ASK}.get(entry.get("result"), FAULT)
        row.why = str(entry.get("why") or "")
    return row


def condition_tests(line: ParsedLine, rule: Rule, consumed_operands: list[Any]) -> list[ConditionTest]:
    """List what the condition of a rule asked, with what it saw of each. Empties `saw`."""
    return [
        _condition_test(leaf, consumed_operands)
        for leaf in condition_leaves(rule.when, called=partial(station_name, line))
    ]


def _condition_test(leaf: Leaf, consumed_operands: list[Any]) -> ConditionTest:
    """Return one line of a condition. Takes the first value in `saw` that belongs to the leaf's operand."""
    for place, operand in enumerate(consumed_operands):
        if operand.get("operand") == leaf.operand and operand.get("path", "") == leaf.path:
            # A later leaf that asks the same takes the next value.
            del consumed_operands[place]
            unasked = leaf.operand in ("agentic", "hook") and operand.get("value") is None
            return ConditionTest(leaf.words, None if unasked else value_text(operand), keys=leaf.keys)
    return ConditionTest(leaf.words, None, keys=leaf.keys)


def value_text(operand: Mapping[str, Any]) -> str:
    """Return a value as text: a plain text as it is, anything else as JSON. A single node of a path is written
    alone."""
    value = operand.get("value")
    if "nodes" in operand:
        nodes = operand["nodes"]
        if not nodes:
            return "no value"
        # A path nearly always finds one node: brackets around it would only be in the way
        value = nodes[0] if len(nodes) == 1 else nodes
    if operand.get("operand") == "failure_type" and isinstance(value, str):
        return failure_word(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _trace_note_sentences(line: ParsedLine, trace: Sequence[Mapping[str, Any]]) -> list[str]:
    """List what was tried besides the rules, as sentences."""
    return [
        note_words(line, str(entry["why"]))
        for entry in trace
        if entry.get("why") and _is_besides_rules(entry)
    ]


def _is_besides_rules(entry: Mapping[str, Any]) -> bool:
    """Tell if an entry is no row of the table: what a rule said of itself stands there."""
    if entry.get("step") == "rules":
        return entry.get("rule") is None
    return entry.get("step") in ("facts", "signal", "blocked", "station_gate", "target", "rule_gates")


def _visit_states(line: ParsedLine, visits: Iterable[GateVisit]) -> Iterator[tuple[str, str]]:
    for visit in sorted(visits, key=attrgetter("position")):
        if visit.state == GateVisit.State.OPEN:
            yield gate_name(line, visit.gate), "still open"
        elif visit.state == GateVisit.State.DECIDED:
            words = {"word": visit.word_display, "who": visit.decider}
            yield gate_name(line, visit.gate), "{word}, {who}".format(**words)
        else:
            yield gate_name(line, visit.gate), "closed without a decision"
