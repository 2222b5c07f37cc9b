"""An assembly line of ALP (A5, A15, A25, A27)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pipelines.formats.foreign.alp import gate_tools as alp_tools
from pipelines.formats.foreign.alp import reader as alp
from pipelines.formats.foreign.alp.typed_conditions import OPERATORS, tests_that_every_route_needs
from pipelines.formats.foreign.import_notes import ImportNotes
from pipelines.formats.foreign.paths import path_for_key
from pipelines.formats.foreign.writer_helpers import (
    Json,
    original_name,
    stations_in_order,
    stored_extra,
    system_and_prompt,
    system_and_prompt_split,
)

ENDS: Final = {"@blocked": "blocked", "completed": "completed", "failed": "failed", "cancelled": "cancelled"}
WAYS: Final = {"yes": "onYes", "no": "onNo", "pass": "onPass", "block": "onBlock"}


def write_assembly_line(line: Json) -> Json:
    names = {station["key"]: original_name(station) for station in line["stations"]}
    names |= {end["key"]: end["kind"] for end in line.get("ends") or []} | ENDS
    # Ends that were stations of the original take their places among these again.
    sinks = [end for end in line.get("ends") or [] if isinstance(stored_extra(end).get("place"), int)]
    names |= {sink["key"]: original_name(sink) for sink in sinks}
    gates = {gate["key"]: original_name(gate) for gate in line.get("gates") or []}
    typed_rules = typed_rules_by_station(line, names, gates)
    stations = [station for station in stations_in_order(line) if station["key"] not in typed_rules]
    written = [_station_document(station) for station in stations]
    for sink in sinks:
        stored = stored_extra(sink, "place", "id")
        written.insert(
            stored_extra(sink)["place"],
            {**stored, "id": original_name(sink), "name": sink.get("label") or sink["key"]},
        )
    rules = [rule for station in stations for rule in _rule_documents(station, names, gates, typed_rules)]
    return {
        **stored_extra(line),
        "id": line["key"],
        "name": line.get("name") or line["key"],
        **({"description": line["description"]} if line.get("description") else {}),
        "stations": written,
        "transitionRules": rules,
        **({"gates": [_gate_document(gate) for gate in line["gates"]]} if line.get("gates") else {}),
    }


def _station_document(station: Json) -> Json:
    stored = stored_extra(station, "trigger", "system", "id")
    trigger = stored_extra({"extra": stored_extra(station).get("trigger")})
    system, prompt = system_and_prompt(station["work"])
    stored_system = "" if trigger.get("appendSystemPrompt") else stored_extra(station).get("system")
    before, after = system_and_prompt_split(prompt, trigger.pop("appendSystemPrompt", "") or stored_system)
    system = before or system
    # From a file beside its station it goes back there.
    if system and system == stored_system:
        stored["system"], system = system, ""
    worked = station["work"]["kind"] not in ("manual", "noop")
    trigger.setdefault("type", "dispatch_worker" if worked else "none")
    trigger_fields = {
        "appendSystemPrompt": system,
        "promptTemplate": after,
        "labels": station.get("labels"),
    }
    limits = station.get("limits") or {}
    for to, name in (("idle_timeout", "idleTimeoutMinutes"), ("max_timeout", "maxTimeoutMinutes")):
        if limits.get(to):
            # Whole minutes, and never fewer.
            trigger_fields[name] = -(-int(limits[to]) // 60)
    return {
        **stored,
        "id": original_name(station),
        "name": station.get("name") or station["key"],
        "trigger": {**trigger, **{key: value for key, value in trigger_fields.items() if value}},
    }


def _rule_documents(
    station: Json, names: Mapping[str, str], gates: Mapping[str, str], typed_ones: Mapping[str, Json]
) -> Iterator[Json]:
    rules = station.get("rules") or []
    rules_by_question: dict[str, Json] = {}
    for rule in rules:
        target = rule["to"] if isinstance(rule["to"], str) else ""
        if target in typed_ones:
            yield _rule_document(rule, station, names, gates, condition="") | typed_ones[target]
            continue
        if target not in names:
            continue
        evaluation = _kind_question_and_answer_or_none(rule.get("when"))
        if evaluation is None:
            yield _rule_document(
                rule, station, names, gates, condition=_alp_condition_word(rule.get("when"))
            ) | {"toStationId": names[target]}
            continue
        what, question, answer = evaluation
        way: Json = {"toStationId": names[target]}
        if what == "hook" and rule.get("feedback"):
            way["feedbackFromHook"] = True
        if question in rules_by_question:
            # The rule of the first answer was yielded already, and gets the way of the second.
            rules_by_question.pop(question)[WAYS[answer]] = way
            continue
        spelling = "evaluator" if what == "agentic" else "hook"
        made = _rule_document(rule, station, names, gates, condition=what) | {
            spelling: question,
            WAYS[answer]: way,
        }
        rules_by_question[question] = made
        yield made


def _rule_document(
    rule: Json, station: Json, names: Mapping[str, str], gates: Mapping[str, str], *, condition: str
) -> Json:
    gate_ids = [gates[key] for key in rule.get("gates") or [] if key in gates]
    return {
        **stored_extra(rule),
        "id": rule["id"],
        **({"label": rule["label"]} if rule.get("label") else {}),
        "fromStationId": names[station["key"]],
        "condition": condition,
        **({"gateId": gate_ids[0]} if gate_ids else {}),
        **({"_alsoEnforce": gate_ids[1:]} if gate_ids[1:] else {}),
        **({"maxRetries": rule["max_retries"]} if rule.get("max_retries") is not None else {}),
    }


def _alp_condition_word(when: Any) -> str:
    result = when.get("result") if isinstance(when, dict) and len(when) == 1 else None
    if result == "success" or when in ({"verdict": "pass"},):
        return "success"
    if result in ("failure", "cancelled", "any"):
        return str(result)
    return "failure" if when == {"verdict": "fail"} else "any"


def _kind_question_and_answer_or_none(when: Any) -> tuple[str, str, str] | None:
    """Read `all: [{result: success}, {agentic | hook: …, answer: …}]`."""
    parts = when.get("all") if isinstance(when, dict) else None
    if not isinstance(parts, list) or len(parts) != 2 or parts[0] != {"result": "success"}:
        return None
    answer = parts[1].get("answer")
    if answer not in WAYS:
        return None
    if isinstance(parts[1].get("agentic"), dict):
        return "agentic", str(parts[1]["agentic"].get("question")), answer
    argv = (parts[1].get("hook") or {}).get("argv") or []
    return ("hook", argv[0], answer) if len(argv) == 1 else None


def _gate_document(gate: Json) -> Json:
    stored, tool, mode = (
        stored_extra(gate, "id", "enabled", "mode", "approveWarnings"),
        gate.get("tool"),
        gate.get("mode"),
    )
    if tool is not None:
        stored["tool"] = alp_tools.to_alp_tool(tool, stored.get("tool"))
        stored |= {} if tool.get("approve_warnings") else {"approveWarnings": True}
        stored |= {"mode": alp.DRY_RUN} if mode == "manual" else {}
    elif mode != "skip" and alp_tools.gate_tool_or_loss(stored, "", ImportNotes()):
        del stored["tool"]  # a tool that the gate has no more
    return {
        # In front of `stored`, so that what the original said of it counts.
        "requiresApproval": gate.get("requires_approval", True) and mode != "auto",
        **stored,
        "id": original_name(gate),
        "name": gate.get("name") or gate["key"],
        **({"description": gate["description"]} if gate.get("description") else {}),
        **({"notifyEmails": gate["notify"]} if gate.get("notify") else {}),
        **({"enabled": False} if mode == "skip" else {}),
    }


# Stations of questions as the typed conditions of ALP that they were.


SHORT: Final = {"equals": "eq", "not_equals": "ne"}


def typed_rules_by_station(line: Json, names: Mapping[str, str], gates: Mapping[str, str]) -> dict[str, Json]:
    """Return {key of a question station: what the rule that leads to it says in ALP, with its condition}. Left
    out are stations to which several rules lead, or whose rules compare something other than answers."""
    typed_rules = {}
    for station in line["stations"]:
        stored = stored_extra(station).get("typed")
        condition = stored.get("condition") if isinstance(stored, Mapping) else None
        leading = [
            rule
            for other in line["stations"]
            for rule in other.get("rules") or ()
            if rule["to"] == station["key"]
        ]
        if (
            isinstance(stored, Mapping)
            and isinstance(condition, Mapping)
            and len(leading) == 1
            and _plain_result_or_empty(leading[0])
        ):
            written = _typed_condition_or_none(
                station, condition, _plain_result_or_empty(leading[0]), names, gates
            )
            if written is not None:
                typed_rules[station["key"]] = {**stored, "condition": written}
    return typed_rules


def _plain_result_or_empty(rule: Json) -> str:
    when = rule.get("when")
    result = when.get("result") if isinstance(when, dict) and len(when) == 1 else None
    return result if isinstance(result, str) and result in ("success", "failure", "cancelled", "any") else ""


def _typed_condition_or_none(
    station: Json,
    condition: Mapping[str, Any],
    result: str,
    names: Mapping[str, str],
    gates: Mapping[str, str],
) -> Json | None:
    questions = condition.get("questions")
    rules = station.get("rules") or []
    # The fallback is read as a rule without a condition, behind all others.
    if not isinstance(questions, Mapping) or not rules or rules[-1].get("when") is not None:
        return None
    paths = {path_for_key(str(question_id)): str(question_id) for question_id in questions}
    ways = [_route_document_or_none(rule, names, gates) for rule in rules]
    needed = tests_that_every_route_needs(condition)
    tests = [_comparison_documents_or_none(rule.get("when"), needed, paths) for rule in rules[:-1]]
    if None in ways or None in tests:
        return None
    # There is one way more than tests: the last is the fallback.
    routes = [{**test, **way} for test, way in zip(tests, ways, strict=False)]  # type: ignore[dict-item]
    when = {"when": result} if result != condition.get("when", "success") else {}
    return {**condition, **when, "route": routes, "fallback": ways[-1]}


def _route_document_or_none(rule: Json, names: Mapping[str, str], gates: Mapping[str, str]) -> Json | None:
    to, gate_ids = rule["to"], [gates[key] for key in rule.get("gates") or () if key in gates]
    if not isinstance(to, str) or to not in names:
        return None
    return {
        **stored_extra(rule),
        "to": names[to],
        **({"gateId": gate_ids[0]} if gate_ids else {}),
        **({"_alsoEnforce": gate_ids[1:]} if gate_ids[1:] else {}),
    }


def _comparison_documents_or_none(when: Any, needed: list[Json], paths: Mapping[str, str]) -> Json | None:
    parts = when.get("all") if isinstance(when, dict) else None
    if not isinstance(parts, list) or parts[: len(needed)] != needed:
        return None
    # All questions are answered, and nothing is compared.
    if parts == needed:
        return {"else": True}
    comparisons: dict[str, Json] = {}
    for part in parts[len(needed) :]:
        test = part.get("output") if isinstance(part, dict) else None
        if not isinstance(test, dict) or test.keys() != {"path", "op", "value"}:
            return None
        path, op = test["path"], test["op"]
        if path not in paths or op not in OPERATORS.values():
            return None
        comparisons.setdefault(paths[path], {})[SHORT.get(str(op), str(op))] = test["value"]
    return {"if": comparisons} if comparisons else None
