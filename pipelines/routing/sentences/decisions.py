"""A decision in words for people: what it did and why, which gate stopped it, and what the policy does otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.routing.document.line import ParsedLine, Station
from pipelines.routing.sentences.escalations import role_words, trigger_words
from pipelines.routing.sentences.names import gate_name, station_name, target_name


def decision_sentence(line: ParsedLine, station: str, answer: Mapping[str, Any], stopped: str = "") -> str:
    """The decision in one sentence. `stopped`: which gate decided, see `deciding_gate_text_or_empty`."""
    if stopped and answer.get("decision") in ("move", "finish"):
        to = answer.get("to") or [str(answer.get("end", ""))]
        words = {"by": stopped, "targets": ", ".join(target_name(line, key) for key in to)}
        moves = answer["decision"] == "move"
        return ("%(by)s: on to %(targets)s." if moves else "%(by)s: it ends, %(targets)s.") % words
    name = station_name(line, station)
    targets = ", ".join(target_name(line, key) for key in answer.get("to") or ())
    match answer.get("decision"):
        case "move":
            return f"{_reason_text(line, name, answer)}: on to {targets}."
        case "finish":
            end = target_name(line, str(answer.get("end", "")))
            return f"{_reason_text(line, name, answer)}: it ends, {end}."
        case "wait" if answer.get("gates"):
            gates = ", ".join(gate_name(line, key) for key in answer["gates"])
            words = {"by": _reason_text(line, name, answer), "targets": targets, "gates": gates}
            if not targets:
                return "{by}: it waits at {gates}.".format(**words)
            return "{by}: on to {targets}, after {gates}.".format(**words)
        case "wait":
            return f"{_reason_text(line, name, answer)}: it stays at {name} and waits."
        case "ask":
            return "An evaluation has to be answered first."
        case "escalate":
            trigger = str(answer.get("trigger", ""))
            role = answer.get("role") or line.escalation_rule(trigger).role
            words = {"station": name, "role": role_words(str(role)), "why": trigger_words(trigger)}
            return "{station}: escalated to {role}, since {why}.".format(**words)
        case "stuck":
            return str(answer.get("message") or "The engine could not decide.")
    return ""


def _reason_text(line: ParsedLine, station: str, answer: Mapping[str, Any]) -> str:
    station_and_rule = line.rules_by_id.get(str(answer.get("rule") or ""))
    if station_and_rule:
        where, rule = station_and_rule
        words = {"number": where.rules.index(rule) + 1, "station": where.name, "label": rule.label}
        if rule.label:
            return "Rule {number} of {station}, “{label}”, matched".format(**words)
        return "Rule {number} of {station} matched".format(**words)
    return {
        "policy": "No rule of %(station)s matched; the line's policy",
        "signal": "%(station)s gave a signal",
        "gate": "A gate after %(station)s",
        "fallback": "The fallback of %(station)s",
    }.get(str(answer.get("by") or ""), "%(station)s") % {"station": station}


def deciding_gate_text_or_empty(
    line: ParsedLine, answer: Mapping[str, Any], trace: Sequence[Mapping[str, Any]]
) -> str:
    """“Release review was rejected”: the word or the check of a gate that decided, or ""."""
    if answer.get("by") != "gate":
        return ""
    for entry in reversed(trace):
        gate, _colon, word = str(entry.get("why") or "").partition(": ")
        if entry.get("step") in ("rule_gates", "station_gate") and word in STOPS:
            return STOPS[word] % {"gate": gate_name(line, gate)}
    return ""


STOPS = {
    "reject": "%(gate)s was rejected",
    "send_back": "%(gate)s was sent back",
    "rework": "%(gate)s asked for rework",
    "abort": "%(gate)s ended the task",
}


def policy_summary(line: ParsedLine, station: Station | None) -> str:
    """Return what the policy does at this station where no rule took the outcome (law §4)."""
    policy = line.policy
    passed = policy.no_match if station is None or station.rules else policy.no_rules
    failed = policy_words(line, str(policy.on_failure))
    return f"no rule matched → {policy_words(line, str(passed))} · station failed → {failed}"


def policy_words(line: ParsedLine, knob: str) -> str:
    """A value of `no_match` or `on_failure` as what happens then."""
    if knob.startswith("station:"):
        return f"on to {station_name(line, knob.removeprefix('station:'))}"
    return KNOBS.get(knob, knob)


KNOBS = {
    "default": "next station",
    "advance": "next station",
    "end": "the task ends",
    "refuse": "refused",
    "fail": "task fails",
    "halt": "task fails",
    "stuck": "stuck",
    "fallback": "the blocked route",
    "escalate": "escalated",
}
