"""Folding a task's events gives its row (house §3 I2). No event is needed but these, in order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pipelines.engine.core.values import TOKEN_FIELDS
from pipelines.models import Event, Task, Token
from pipelines.routing.decide.effects import ENDS, counts_with_added, worst_position_status
from pipelines.routing.decide.transitions import COUNTERS

Row = dict[str, Any]
EMPTY: Row = {
    "seq": 0,
    "pinned_id": None,
    "status": "queued",
    "end": "",
    "error": "",
    "reason": "",
    **{name: {} for name in COUNTERS},
    "escalations": 0,
    "context": {},
    "variables": {},
    "unreadable": {},
    "tokens": {},
    "ended_at": None,
}


def row_folded_from_events(events: Iterable[Event]) -> Row:
    """The derived fields of a task's row: seq, pinned_id (None before an event names it), status, end, error, reason,
    the counters, escalations, context, variables, ended_at, and `tokens` {id: state}."""
    row = EMPTY
    for event in events:
        row = row_after_event(row, event)
    return row


def row_after_event(row: Row, event: Event) -> Row:
    """Return the row one event further. Never changes `row`."""
    data = event.data
    row = {
        **row,
        "seq": event.seq,
        "tokens": {**row["tokens"], **_folded_tokens_by_id(data.get("tokens", []))},
    }
    for name, added in data.get("count", {}).items():
        row[name] = counts_with_added(row[name], added)
    for name in ("context", "variables", "unreadable"):
        row[name] = {**row[name], **data.get(name, {})}
    # An undone migration puts values back as they were, in place of adding to them.
    row.update(data.get("restored", {}))
    row["escalations"] = data.get("escalations", row["escalations"])
    row["pinned_id"] = data.get("pinned", row["pinned_id"])
    if "task" in data:
        row.update(data["task"], ended_at=event.at)
    return {**row, "status": _task_status_of_row(row)}


def stored_row_of_task(task: Task, tokens: Iterable[Token]) -> Row:
    """Return the fields that `row_folded_from_events` derives, read from the rows instead."""
    return {
        **{name: getattr(task, name) for name in EMPTY if name != "tokens"},
        "tokens": {token.pk: {name: getattr(token, name) for name in TOKEN_FIELDS} for token in tokens},
    }


def _folded_tokens_by_id(tokens: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {token["id"]: {name: token.get(name) for name in TOKEN_FIELDS} for token in tokens}


def _task_status_of_row(row: Row) -> str:
    """Return the status of the living positions; of a task that has ended that of its first token, whose end
    is the worst of them."""
    tokens = row["tokens"].values()
    living = [token["status"] for token in tokens if not token["forked"] and token["status"] not in ENDS]
    if living:
        return worst_position_status(living)
    return next((str(token["status"]) for token in tokens if token["parent_id"] is None), row["status"])
