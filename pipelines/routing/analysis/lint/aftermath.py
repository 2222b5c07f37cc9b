"""What happens to an outcome that no rule takes, in words."""

from __future__ import annotations

from typing import Any

OUTCOMES = {"passed": "that passed", "failed": "that failed", "blocked": "that are blocked"}


def then(decision: dict[str, Any]) -> str:
    """A decision, as `Decision.to_dict` gives it, made by the policy."""
    kind = decision["decision"]
    if kind == "move":
        return f"the policy sends the task to {', '.join(decision['to'])}"
    if kind == "finish":
        return f"the policy ends the task: {decision['end']}"
    if kind == "stuck":
        return f"the task is stuck with {decision['error']}"
    if kind == "escalate":
        return "the policy escalates"
    return f"the task waits, {decision.get('status', 'for an answer')}"


def is_bad(decision: dict[str, Any]) -> bool:
    return decision["decision"] in ("stuck", "escalate") or decision.get("kind") == "failed"
