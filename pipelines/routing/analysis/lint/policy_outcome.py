"""Consequence of an outcome that no rule takes, in words."""

from __future__ import annotations

from typing import Any

from pipelines.routing.basics.wording import Wording
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.decide.steps.policies import NO_MATCH
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.sentences import part_names as named

OUTCOMES = {
    "passed": "that passed",
    "failed": "that failed",
    "blocked": "that are blocked",
}


def policy_outcome_text(line: ParsedLine, decision: dict[str, Any]) -> str:
    """A decision, as `Decision.to_dict` gives it, made by the policy."""
    kind = decision["decision"]
    if kind == "move":
        stations = named.station_part_names(line, decision["to"])
        return _("the policy sends the task to %(stations)s", stations=stations)
    if kind == "finish":
        return _("the policy ends the task: %(end)s", end=named.target_part_name(line, decision["end"]))
    if kind == "stuck":
        return _stuck_wording(decision["error"])
    if kind == "escalate":
        return "the policy escalates"
    answer = "for an answer"
    return _("the task waits, %(status)s", status=decision.get("status", answer))


def _stuck_wording(error: str) -> str:
    """People have just read that no rule takes it."""
    why = _("the task gets stuck: %(why)s", why=named.error_part_name(error))
    people = "the task gets stuck" if error == NO_MATCH else why
    return Wording.of(f"the task is stuck with {error}", people)


def is_stuck_escalated_or_failed(decision: dict[str, Any]) -> bool:
    return decision["decision"] in ("stuck", "escalate") or decision.get("kind") == "failed"
