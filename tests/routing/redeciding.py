"""Two lines and a task between them."""

from __future__ import annotations

from typing import Any

from pipelines.routing.analysis.redecide.recorded_decision import answer_without_trace, decide_again
from pipelines.routing.analysis.redecide.verdict import Redecision, redecide
from pipelines.routing.document.line import ParsedLine, read_line

LOOK, LEAD = {"key": "look", "name": "Look"}, {"key": "lead", "name": "Lead"}


PASSED = {"result": "success"}


def line(*rules: dict[str, Any], gates: list[dict[str, Any]] | None = None, **more: Any) -> ParsedLine:
    stations = [
        {"key": "build", "work": {"kind": "noop"}, "rules": list(rules), **more.pop("build", {})},
        {"key": "ship", "work": {"kind": "noop"}},
        {"key": "fix", "work": {"kind": "noop"}},
    ]
    whole = {"gateline": 1, "key": "l", "name": "L", "stations": stations, "gates": gates or [LOOK, LEAD]}
    return read_line({**whole, **more})


def to(target: str | list[str], *gates: str, name: str = "on", **more: Any) -> dict[str, Any]:
    return {"id": name, "when": {"always": True}, "to": target, "gates": list(gates), **more}


def tried(
    old: ParsedLine, new: ParsedLine, outcome: dict[str, Any] | None = None, **facts: Any
) -> Redecision:
    situation = {"station": "build", "outcome": outcome or PASSED, "facts": facts}
    return redecide(old, situation, answer_without_trace(decide_again(old, situation)), new)


def word(decision: str, gate: str = "look", **more: str) -> dict[str, Any]:
    return {gate: {"decision": decision, **more}}


def answer(decision: str, /, **more: Any) -> dict[str, Any]:
    return {"decision": decision, "rule": "r", **more}
