"""The trace of a decision, whole: every step that was tried, in its order, and the checks of its gates.

Stored is what cannot be worked out again; who shows rules asks `decision_trace`. Gates have theirs as they are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pipelines.models import Decision
from pipelines.queries import versions
from pipelines.routing.analysis.redecide.stored_trace import entries_completed_by_retesting
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.conditions import condition_words
from pipelines.routing.sentences.names import edge_name, gate_name, station_name
from pipelines.routing.sentences.trace_notes import note_words

STEPS = {
    "facts": "What Gateline observed",
    "signal": "Signal",
    "blocked": "Blocked outcome",
    "station_gate": "Gate of the station",
    "rules": "Rules",
    "target": "Target",
    "rule_gates": "Gates of the rule",
    "effects": "Effects",
}


GATES = ("station_gate", "rule_gates")


@dataclass(frozen=True, slots=True)
class TraceStep:
    """Entry of a trace. `rule`: the one that was tried, “rule 2 · Bad”, by its condition where it has no
    label. `result`: true, false, ask or error, as the decision tool writes it. `micros`: how long it took,
    None without a clock."""

    name: str
    rule: str
    result: str
    saw: list[str]
    why: str
    micros: float | None


def decision_trace(decision: Decision) -> list[dict[str, Any]]:
    return entries_completed_by_retesting(
        versions.parsed_line_by_version_id(decision.pinned_id), decision.situation, decision.trace
    )


def gate_check_results(line: ParsedLine, trace: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the results of the checks of gates, as the trace has them, with the `gate` and in `words`; an
    entry's sentence begins with the gate's key."""
    return [
        {
            **check,
            "gate": gate_name(line, str(entry.get("why", "")).partition(":")[0]),
            "words": _check_words(check),
        }
        for entry in trace
        if entry.get("step") in GATES
        for check in entry.get("saw") or ()
        if "field" in check
    ]


def _check_words(check: Mapping[str, Any]) -> str:
    if check["label"]:
        return str(check["label"])
    operator = check["operator"].replace("_", " ")
    return "{field} {operator} {value}".format(**check, operator=operator)


def trace_steps(line: ParsedLine, trace: Sequence[Mapping[str, Any]]) -> list[TraceStep]:
    return [_trace_step(line, entry) for entry in trace]


def _trace_step(line: ParsedLine, entry: Mapping[str, Any]) -> TraceStep:
    key = str(entry.get("step") or "")
    took = entry.get("took")
    return TraceStep(
        STEPS.get(key, key),
        _rule_text(line, str(entry.get("rule") or "")),
        str(entry.get("result")).lower(),
        [_operand_text(line, operand) for operand in entry.get("saw") or ()],
        note_words(line, str(entry.get("why") or "")),
        # A trace has seconds.
        None if took is None else float(took) * 1_000_000,
    )


def _rule_text(line: ParsedLine, key: str) -> str:
    if key not in line.rules_by_id:
        return ""
    station, rule = line.rules_by_id[key]
    label = rule.label or condition_words(rule.when, called=partial(station_name, line))
    return f"rule {station.rules.index(rule) + 1} · {label}"


def _operand_text(line: ParsedLine, operand: Mapping[str, Any]) -> str:
    """`output $.high: 2`, `edge Build → Test: 1`, or a check with what it saw."""
    if "passed" in operand:
        expected = _text_or_json(operand.get("value"))
        what = f"{operand.get('label') or operand['field']} {operand.get('operator', '')} {expected}"
        return f"{what}: {_text_or_json(operand.get('saw'))}"
    if operand.get("operand") == "edge" and operand.get("path"):
        operand = {**operand, "path": edge_name(line, str(operand["path"]))}
    label = " ".join(str(operand[key]) for key in ("operand", "path") if operand.get(key))
    rest = {key: value for key, value in operand.items() if key not in ("operand", "path")}
    value = next(iter(rest.values())) if len(rest) == 1 else rest
    return f"{label}: {_text_or_json(value)}" if label else _text_or_json(rest)


def _text_or_json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
