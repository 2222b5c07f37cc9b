"""What happens to an outcome that no rule takes, in words."""

from __future__ import annotations

from typing import Any

from pipelines.routing.basics.translation import gettext as _

OUTCOMES = {"passed": "that passed", "failed": "that failed", "blocked": "that are blocked"}


def then(decision: dict[str, Any]) -> str:
    """A decision, as `Decision.to_dict` gives it, made by the policy."""
    kind = decision["decision"]
    if kind == "move":
        return _("the policy sends the task to %(stations)s") % {"stations": ", ".join(decision["to"])}
    if kind == "finish":
        return _("the policy ends the task: %(end)s") % {"end": decision["end"]}
    if kind == "stuck":
        return _("the task is stuck with %(error)s") % {"error": decision["error"]}
    if kind == "escalate":
        return _("the policy escalates")
    return _("the task waits, %(status)s") % {"status": decision.get("status", "for an answer")}


def is_bad(decision: dict[str, Any]) -> bool:
    return decision["decision"] in ("stuck", "escalate") or decision.get("kind") == "failed"
