"""Consequences of a decision in words: for the buttons of a gate, and for those of a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.names import end_name, gate_name, station_names


def consequence_text(line: ParsedLine, answer: Mapping[str, Any]) -> str:
    """A decision in words: “Deliver starts”, “the task fails”, …"""
    kind = answer["decision"]
    if kind == "move":
        return f"{station_names(line, answer['to'])} starts"
    if kind == "finish":
        return _finish(line, answer)
    if kind == "wait":
        return _wait(line, answer)
    if kind == "stuck":
        return f"the task would be stuck ({answer['error']})"
    if kind == "escalate":
        return "the task is held and escalated"
    return "a condition is asked first"


def _finish(line: ParsedLine, answer: Mapping[str, Any]) -> str:
    if answer["kind"] == "failed":
        return "the task fails"
    if answer["kind"] == "cancelled":
        return "the task is cancelled"
    return f"the task is done: {end_name(line, answer['end'])}"


def _wait(line: ParsedLine, answer: Mapping[str, Any]) -> str:
    if answer["status"] == "awaiting_review":
        return f"{', '.join(gate_name(line, g) for g in answer['gates'])} is asked next"
    if answer["status"] == "blocked":
        return "the task is blocked until somebody answers"
    return "the task is held"
