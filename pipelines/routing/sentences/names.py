"""Stations, ends, gates and rules as people know them: by name, never by key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pipelines.routing.document.ends import end_label
from pipelines.routing.document.gates import JUMP
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import BLOCKED, ORIGIN


def station_name(line: ParsedLine, key: str) -> str:
    station = line.stations_by_key.get(key)
    return station.name if station else key


def gate_name(line: ParsedLine, key: str) -> str:
    if key == JUMP:
        return "Review of a jump"
    gate = line.gates_by_key.get(key)
    return gate.name if gate else key


def place_name(line: ParsedLine, key: str) -> str:
    """Return the name of a station, a gate or an end; any other key stays as it is."""
    if key in line.gates_by_key and key not in line.stations_by_key:
        return gate_name(line, key)
    return target_name(line, key)


def rule_name(line: ParsedLine, rule_id: str) -> str:
    """Its label, else its number at its station. :raises KeyError: the line does not have it"""
    station, rule = line.rules_by_id[rule_id]
    return rule.label or f"Rule {1 + station.rules.index(rule)}"


def by_rule_phrase_or_empty(line: ParsedLine, rule_id: str) -> str:
    """Return the rule by its label, else by its number at its station; an empty text where the line does not
    have it."""
    if rule_id not in line.rules_by_id:
        return ""
    station, rule = line.rules_by_id[rule_id]
    if rule.label:
        return f"by the rule “{rule.label}”"
    return f"by rule {1 + station.rules.index(rule)}"


def end_name(line: ParsedLine, key: str) -> str:
    return end_label(key, line.end(key).label)


def target_name(line: ParsedLine, key: str) -> str:
    """Return the name of a station, an end or a symbol."""
    if key == ORIGIN:
        return "back where it came from"
    if key == BLOCKED:
        return "stays here, blocked"
    return end_name(line, key) if key in line.ends_by_key else station_name(line, key)


def edge_name(line: ParsedLine, text: str) -> str:
    """“a->b” as “Build → Test”; what is no edge stays as it is."""
    source, _arrow, to = text.partition("->")
    return f"{target_name(line, source)} → {target_name(line, to)}" if to else text


def station_names(line: ParsedLine, keys: Iterable[str]) -> str:
    return " + ".join(station_name(line, key) for key in keys)


# Consequences of a decision in words: for the buttons of a gate, and for those of a test.


def consequence_text(line: ParsedLine, answer: Mapping[str, Any]) -> str:
    """A decision in words: “Deliver starts”, “the task fails”, …"""
    kind = answer["decision"]
    if kind == "move":
        return f"{station_names(line, answer['to'])} starts"
    if kind == "finish":
        return _finish_text(line, answer)
    if kind == "wait":
        return _wait_text(line, answer)
    if kind == "stuck":
        return f"the task would be stuck ({answer['error']})"
    if kind == "escalate":
        return "the task is held and escalated"
    return "a condition is asked first"


def _finish_text(line: ParsedLine, answer: Mapping[str, Any]) -> str:
    if answer["kind"] == "failed":
        return "the task fails"
    if answer["kind"] == "cancelled":
        return "the task is cancelled"
    return f"the task is done: {end_name(line, answer['end'])}"


def _wait_text(line: ParsedLine, answer: Mapping[str, Any]) -> str:
    if answer["status"] == "awaiting_review":
        return f"{', '.join(gate_name(line, g) for g in answer['gates'])} is asked next"
    if answer["status"] == "blocked":
        return "the task is blocked until somebody answers"
    return "the task is held"
