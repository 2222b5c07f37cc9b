"""The trace as lines to compare, and lines with a gate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipelines.routing.document.line import ParsedLine
from tests.routing.support import ruled, short, traced

Cases = dict[str, tuple[Callable[[], list[str]], list[str]]]
"""What is told of a decision, and what is expected."""


def told(of: ParsedLine, outcome: dict[str, Any], station: str = "a", **facts: Any) -> list[str]:
    """The trace, one line for each entry, then the decision and what a person reads of it."""
    answer = traced(of, outcome, station, **facts)
    message = f": {answer['message']}" if "message" in answer else ""
    return [*map(_entry, answer["trace"]), f"⇒ {short(answer)}{message}"]


def _entry(entry: dict[str, Any]) -> str:
    rule = f" {entry['rule']}" if entry["rule"] else ""
    why = f": {entry['why']}" if entry["why"] else ""
    saw = "".join(f" [{_seen(each)}]" for each in entry["saw"])
    return f"{entry['step']}{rule} {entry['result']}{why}{saw}"


def _seen(seen: dict[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in seen.items())


CHECK = {"field": "exit_code", "operator": "equals", "value": 0}
HOOK = {"hook": {"argv": ["ready"]}, "answer": "pass"}
NEVER = {"when": {"result": "cancelled"}}
UNPARSEABLE = {"result": "success", "output_error": "line 3"}


def gated(mode: str = "manual", **more: Any) -> ParsedLine:
    """A rule from a to b behind the gate g."""
    return ruled({"gates": ["g"]}, gates=[{"key": "g", "mode": mode, **more}])


def checked(**more: Any) -> ParsedLine:
    """Station a with the gate g, which checks the exit code."""
    gate = {"key": "g", "mode": "auto", "checks": {"all": [{**CHECK, **more}]}}
    return ruled({}, station={"gate": "g"}, gates=[gate])
