"""Part of the gates in a transition, as its event tells it (law §9): what was evaluated, and nothing else.

A gate is named only if its checks or its tool were evaluated, or a person spoke there. Passed by a signal,
skipped, or without a check it says nothing; displayed checks alone let nothing through.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipelines.models import Decision
from pipelines.queries import versions
from pipelines.routing.basics.outcome import derived_outcome, read_outcome
from pipelines.routing.decide.outcome_judgement import judge_outcome
from pipelines.routing.document.kinds import failure_eval
from pipelines.routing.document.line import ParsedLine

GATE_STEPS = ("station_gate", "rule_gates")
DECISION_RESULTS = {
    "approve": "passed",
    "reject": "rejected",
    "send_back": "sent_back",
    "rework": "rework",
    "abort": "aborted",
}
TOOL, DISPLAY_ONLY = "its tool says ", ", shown only"


def gate_passed_or_failed_trigger(decision: Decision) -> str:
    """`gate_3_passed`, where a gate let it through or turned it back; else nothing."""
    line, words = versions.parsed_line_by_version_id(decision.pinned_id), votes_by_gate(decision)
    against = next((key for key, word in words.items() if word != "approve"), None)
    if against:
        return f"{against}_{DECISION_RESULTS.get(words[against], words[against])}"
    judged = dict.fromkeys((key for key, word in words.items() if word == "approve"), True)
    for entry in _gate_entries_of_trace(decision):
        key, judges = gate_key_of_trace_entry(entry), not str(entry["why"]).endswith(DISPLAY_ONLY)
        # A check that is only displayed lets nothing through and turns nothing back
        if judges:
            judged[key] = judged.get(key, True) and (entry["result"] is True or words.get(key) == "approve")
    failed = next((key for key, passed in judged.items() if not passed), None)
    if failed:
        return f"{failed}_failed"
    own = _station_gate_or_none(line, decision)
    passed = next((key for key in judged if key != own or _went_forward_by_gate(line, decision)), None)
    return f"{passed}_passed" if passed else ""


def pass_or_fail_by_check(decision: Decision) -> dict[str, str]:
    """Return each check and tool that was evaluated, and each gate at which somebody spoke. Of two under one
    name a failed one counts."""
    passed_by_name: dict[str, bool] = {}
    for entry in _gate_entries_of_trace(decision):
        for name, passed in _check_names_with_passed(entry):
            passed_by_name[name] = passed_by_name.get(name, True) and passed
    approvals = {key: word == "approve" for key, word in votes_by_gate(decision).items()}
    return {key: pass_or_fail(passed) for key, passed in {**passed_by_name, **approvals}.items()}


def pass_or_fail(passed: bool) -> str:
    return "pass" if passed else "fail"


def votes_by_gate(decision: Decision) -> dict[str, str]:
    """Return people's words at the gates that this decision asks."""
    gates = decision.situation.get("facts", {}).get("gates", {})
    return {key: str(word.get("decision")) for key, word in gates.items() if word.get("decision")}


def gate_key_of_trace_entry(entry: dict[str, Any]) -> str:
    return str(entry.get("why", "")).partition(":")[0]


def _gate_entries_of_trace(decision: Decision) -> Iterator[dict[str, Any]]:
    """The entries of its trace in which checks or a tool of a gate were evaluated."""
    for entry in decision.trace:
        if entry.get("step") in GATE_STEPS and any(True for _ in _check_names_with_passed(entry)):
            yield entry


def _check_names_with_passed(entry: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    for check in entry.get("saw") or ():
        if isinstance(check, dict) and "passed" in check:
            yield check.get("label") or check["field"], check["passed"]
    # The trace says “gate: its tool says pass”, with the key of the gate.
    key, _, detail = str(entry.get("why", "")).partition(": ")
    if detail.startswith(TOOL):
        yield f"{key}: tool", not detail.removeprefix(TOOL).startswith("fail")


def _station_gate_or_none(line: ParsedLine, decision: Decision) -> str | None:
    station = line.stations_by_key.get(decision.station)
    return station.gate if station else None


def _went_forward_by_gate(line: ParsedLine, decision: Decision) -> bool:
    """Return whether what passed and went on did so by way of the station's gate: what failed, or goes back,
    has another cause, whatever the gate's result."""
    station = line.stations_by_key[decision.station]
    parsed, facts = read_outcome(decision.situation["outcome"]), decision.situation.get("facts") or {}
    outcome = derived_outcome(
        judge_outcome(line, station, parsed, facts.get("spent", 0)).outcome, failure_eval(station.kind)
    )
    if outcome.outcome_state != "passed":
        return False
    answer = decision.answer
    if answer["decision"] == "finish":
        return bool(answer["kind"] == "completed")
    own = line.index_of_station(station.key)
    return all(line.index_of_station(to) > own for to in answer.get("to", ()) if to in line.stations_by_key)
