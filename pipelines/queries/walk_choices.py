"""Choices of what may happen next in a test, in words: buttons with their consequences, and the fields of an
outcome."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from pipelines.models import Escalation, Word
from pipelines.queries.walk_words import hold_reason, outcome_words, step_words
from pipelines.routing.basics.outcome import RESULTS, VERDICTS, derived_outcome, read_outcome
from pipelines.routing.decide.decisions import Move
from pipelines.routing.document.checks import Check
from pipelines.routing.document.line import ParsedLine, Station
from pipelines.routing.sentences.conditions import condition_leaves, condition_words
from pipelines.routing.sentences.names import consequence_text, gate_name, station_name, target_name
from pipelines.routing.simulate import choices
from pipelines.routing.simulate.choices import SimulationChoice
from pipelines.routing.simulate.outcome_form import path_parts_or_none
from pipelines.routing.simulate.state import READY, SimulatedPosition, SimulatedTask, StepRecord

GROUPS = {
    choices.WORD: "At the gate",
    choices.ANSWER: "The evaluation answers",
    choices.QUICK: "Quick",
    choices.RULE: "Take a rule",
    choices.REST: "When no rule matches",
    choices.RESOLVE: "Resolve the escalation",
    choices.THERE: "What was missing",
    choices.RETRY: "By hand",
}


def choice_groups(line: ParsedLine, walk: SimulatedTask, position: SimulatedPosition) -> list[dict[str, Any]]:
    """The choices of one token, group by group, in the order in which people look for them."""
    options = choices.simulation_choices(line, walk, position)
    rows_by_kind = (
        (kind, [_choice_fields(line, position, choice) for choice in options if choice.kind == kind])
        for kind in GROUPS
    )
    return [{"kind": kind, "title": GROUPS[kind], "choices": rows} for kind, rows in rows_by_kind if rows]


def _choice_fields(line: ParsedLine, position: SimulatedPosition, choice: SimulationChoice) -> dict[str, Any]:
    return {
        "label": _choice_label(line, position, choice),
        "sample": outcome_words(choice.step.outcome) if choice.step and choice.rule else "",
        "then": _consequence_sentence(line, position, choice),
        "step": choice.step.to_dict() if choice.step and choice.taken else None,
        "rule": choice.rule,
        "number": _rule_number_or_none(line, choice.rule),
        "leads": choice.leads,
        "gate": choice.gate,
        "word": _gate_word_or_empty(choice),
    }


def _gate_word_or_empty(choice: SimulationChoice) -> str:
    """The word at the gate, for the look of its button."""
    if choice.kind != choices.WORD or choice.step is None:
        return ""
    return next(iter(choice.step.gates.values()))["decision"]


def _rule_number_or_none(line: ParsedLine, rule: str) -> int | None:
    entry = line.rules_by_id.get(rule)
    return entry[0].rules.index(entry[1]) + 1 if entry else None


def _choice_label(line: ParsedLine, position: SimulatedPosition, choice: SimulationChoice) -> str:
    if choice.rule:
        rule = line.rules_by_id[choice.rule][1]
        return rule.label or condition_words(rule.when, called=partial(station_name, line))
    assert choice.step is not None
    if choice.kind == choices.REST:
        return _outcome_label(line, position, choice)
    if choice.kind == choices.ANSWER:
        return str(choice.step.answers[0]["answer"])
    if choice.kind == choices.RETRY:
        return f"Run {station_name(line, position.station)} again"
    if choice.kind == choices.WORD:
        return _decision_and_route_text(line, choice)
    if choice.kind == choices.RESOLVE:
        return _resolution_text(line, choice.step.details)
    if choice.kind == choices.THERE:
        return "It is there now"
    description = step_words(line, choice.step)
    return description[:1].upper() + description[1:]


def _outcome_label(line: ParsedLine, position: SimulatedPosition, choice: SimulationChoice) -> str:
    assert choice.step is not None
    outcome_state = derived_outcome(read_outcome(dict(choice.step.outcome))).outcome_state
    return {"passed": "Passed", "failed": "Failed", "blocked": "Blocked"}[outcome_state]


def _decision_and_route_text(line: ParsedLine, choice: SimulationChoice) -> str:
    assert choice.step is not None
    if not choice.gate:
        return "Approve all"
    word = choice.step.gates[choice.gate]
    label = str(Word(word["decision"]).label)
    route = word.get("route")
    if not route:
        return label
    known = {"fail": "the task fails", "rework": "the producing station runs again"}
    return f"{label}: {known.get(route) or target_name(line, route)}"


def _resolution_text(line: ParsedLine, resolution: Mapping[str, str]) -> str:
    label = str(Escalation.How(resolution["word"]).label)
    return f"{label}: {target_name(line, resolution['route'])}" if "route" in resolution else label


def _consequence_sentence(line: ParsedLine, position: SimulatedPosition, choice: SimulationChoice) -> str:
    """Return what would follow a choice, as a sentence; or why it cannot happen."""
    if choice.taken is None:
        return as_sentence(choice.refused)
    if choice.kind == choices.RESOLVE:
        return _resolution_consequence(line, choice.taken)
    if choice.taken.decision is None:
        again = f"{station_name(line, position.station)} runs again"
        return "Still waits at the other gates." if choice.kind == choices.WORD else as_sentence(again)
    decision = choice.taken.decision
    # “Goes to” would read as if it left the station
    if isinstance(decision, Move) and decision.to == (position.station,):
        return as_sentence(f"{station_name(line, position.station)} runs again")
    effect = consequence_text(line, decision.to_dict())
    after = _position_after_or_none(choice.taken.walk, position)
    # A hold comes after the decision, so that the decision alone would say that it goes on
    return (after and hold_reason(line, after)) or as_sentence(effect)


def _resolution_consequence(line: ParsedLine, record: StepRecord) -> str:
    """Return what the answer to an escalation leads to; of an escalation that held no station, what had only
    waited for it."""
    if record.decision is None and record.walk.is_over:
        return as_sentence("the task is cancelled")
    decisions = [record.decision] if record.decision else []
    effects = [
        consequence_text(line, decision.to_dict())
        for decision in (*decisions, *(also for _at, also in record.also))
    ]
    if record.decision is None and record.entered:
        effects.insert(0, f"{station_name(line, record.entered[0])} starts")
    # Resolved, and still on hold: else it would read as if the task went on
    if not effects and record.walk.escalations:
        effects = ["another escalation is still open"]
    return " ".join(map(as_sentence, effects or ["nothing keeps the task from moving forward any more"]))


def _position_after_or_none(walk: SimulatedTask, position: SimulatedPosition) -> SimulatedPosition | None:
    return next((candidate for candidate in walk.positions if candidate.station == position.station), None)


def as_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


# The whole outcome, field by field


def outcome_form_or_none(line: ParsedLine, position: SimulatedPosition) -> dict[str, Any] | None:
    """Return what rules, gates and the form of the station read, as fields; None where nothing is to be
    reported."""
    if position.status != READY:
        return None
    station = line.station(position.station)
    return {
        "results": list(RESULTS),
        "verdicts": list(VERDICTS),
        "fields": list(_outcome_fields(line, station)),
        "whole": sorted(_json_only_paths(line, station)),
    }


def _outcome_fields(line: ParsedLine, station: Station) -> Iterator[dict[str, str]]:
    notes_by_path: dict[str, list[str]] = {}
    for path, words in _paths_read_with_reasons(line, station):
        # One field can fill one place: what leads to several is left to the JSON
        if path_parts_or_none(path) is not None:
            notes_by_path.setdefault(path, [])
            notes_by_path[path] += [words] if words and words not in notes_by_path[path] else []
    for path, notes in notes_by_path.items():
        yield {"path": path, "label": path.removeprefix("$."), "help": "; ".join(notes)}


def _json_only_paths(line: ParsedLine, station: Station) -> set[str]:
    """Paths to several places, which only JSON can fill."""
    return {
        path for path, _words in _paths_read_with_reasons(line, station) if path_parts_or_none(path) is None
    }


def _paths_read_with_reasons(line: ParsedLine, station: Station) -> Iterator[tuple[str, str]]:
    """Yield each place of the output that is read, and what for."""
    for number, rule in enumerate(station.rules, start=1):
        for leaf in condition_leaves(rule.when):
            if leaf.operand == "output":
                yield leaf.path, f"rule {number}: {leaf.words}"
        for composition in rule.compose:
            if composition.path is not None:
                yield composition.path.text, f"rule {number} sets {composition.var}"
    for key in _station_gates(station):
        for check in _gate_checks(line, key):
            if check.field.startswith("output."):
                label = check.label or f"{check.operator} {check.value}"
                yield check.field.removeprefix("output."), f"{gate_name(line, key)}: {label}"
    for name in station.output_keys or ():
        yield name, ""
    for field in station.work.get("form") or ():
        if isinstance(field, dict) and isinstance(field.get("key"), str):
            yield field["key"], str(field.get("label") or "")


def _station_gates(station: Station) -> Iterable[str]:
    keys = [station.gate, *(key for rule in station.rules for key in rule.gates)]
    return dict.fromkeys(key for key in keys if key)


def _gate_checks(line: ParsedLine, key: str) -> Iterator[Check]:
    gate = line.gates_by_key.get(key)
    if gate is not None and gate.checks is not None:
        yield from gate.checks.checks()
