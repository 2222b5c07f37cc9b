"""What would follow from a decision, in words: on the buttons of a gate, and on those of a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.routing.basics.translation import gettext as _
from pipelines.routing.document.line import Line
from pipelines.routing.sentences.names import end_name, gate_name, station_names


def consequence(line: Line, answer: Mapping[str, Any]) -> str:
    """A decision in words: “Deliver starts”, “the task fails”, …"""
    kind = answer["decision"]
    if kind == "move":
        return _("%(stations)s starts") % {"stations": station_names(line, answer["to"])}
    if kind == "finish":
        return _finish(line, answer)
    if kind == "wait":
        return _wait(line, answer)
    if kind == "stuck":
        return _("the task would be stuck (%(error)s)") % {"error": answer["error"]}
    if kind == "escalate":
        return _("the task is held and escalated")
    return _("a condition is asked first")


def _finish(line: Line, answer: Mapping[str, Any]) -> str:
    if answer["kind"] == "failed":
        return _("the task fails")
    if answer["kind"] == "cancelled":
        return _("the task is cancelled")
    return _("the task is done: %(end)s") % {"end": end_name(line, answer["end"])}


def _wait(line: Line, answer: Mapping[str, Any]) -> str:
    if answer["status"] == "awaiting_review":
        return _("%(gates)s is asked next") % {
            "gates": ", ".join(gate_name(line, g) for g in answer["gates"])
        }
    if answer["status"] == "blocked":
        return _("the task is blocked until somebody answers")
    return _("the task is held")
