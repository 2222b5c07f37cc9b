"""Changes of a line document as data: what a remedy proposes and the canvas applies as one undoable command.

Everything is named by its key or id, so an edit fits a document that was changed meanwhile; where what it names is
gone, it changes nothing. `static/editor/store/commands-edits.ts` applies them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Document = Mapping[str, Any]
Edit = dict[str, Any]


def edit_moving_rule(rule: str, before: str | None) -> Edit:
    """None: to the end."""
    return {"do": "moveRule", "rule": rule, "before": before}


def edit_removing_rule(rule: str) -> Edit:
    return {"do": "removeRule", "rule": rule}


def edit_adding_rule(station: str, rule: Document) -> Edit:
    """Return the edit that adds the rule as the last; its id is made unique on application."""
    return {"do": "addRule", "station": station, "rule": dict(rule)}


def edit_changing_rule(rule: str, *unset_fields: str, **changed: Any) -> Edit:
    return {"do": "changeRule", "rule": rule, "set": changed, "unset": list(unset_fields)}


def edit_changing_station(station: str, *unset: str, **changed: Any) -> Edit:
    return {"do": "changeStation", "station": station, "set": changed, "unset": list(unset)}


def edit_removing_station(station: str) -> Edit:
    return {"do": "removeStation", "station": station}


def edit_moving_station(station: str, before: str) -> Edit:
    return {"do": "moveStation", "station": station, "before": before}


def edit_changing_gate(gate: str, *unset: str, **changed: Any) -> Edit:
    return {"do": "changeGate", "gate": gate, "set": changed, "unset": list(unset)}


def edit_adding_gate(gate: Document) -> Edit:
    return {"do": "addGate", "gate": dict(gate)}


def edit_adding_end(end: Document) -> Edit:
    return {"do": "addEnd", "end": dict(end)}


def edit_changing_line(*unset: str, **changed: Any) -> Edit:
    return {"do": "changeLine", "set": changed, "unset": list(unset)}
