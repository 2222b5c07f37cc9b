"""Operands of a condition in the trace: complete when small, cut when not, so that the trace stays small."""

from __future__ import annotations

from typing import Any, NamedTuple

MAX_TEXT = 200
MAX_MEMBERS = 10
MAX_NESTING = 3
AT_PATHS = ("output", "fact")
"""The operands that a path finds: any number of nodes."""


class ObservedOperand(NamedTuple):
    """Operand that was reached: `path` for outputs, facts and edges; of the first two `value` is the list of
    nodes."""

    operand: str
    value: Any
    path: str | None = None

    def to_dict(self) -> dict[str, Any]:
        if self.operand in AT_PATHS:
            return {"operand": self.operand, "path": self.path, "nodes": shorten_value(self.value)}
        path = {} if self.path is None else {"path": self.path}
        return {"operand": self.operand, **path, "value": shorten_value(self.value)}


def shorten_value(value: Any, nesting: int = MAX_NESTING) -> Any:
    """The value itself, or a copy with long texts and lists cut and deep ones left out."""
    if type(value) is str:
        return value if len(value) <= MAX_TEXT else value[:MAX_TEXT] + "…"
    if type(value) is list:
        return (
            _shorten_members([shorten_value(m, nesting - 1) for m in value[:MAX_MEMBERS]], len(value))
            if nesting
            else "[…]"
        )
    if type(value) is dict:
        return _shorten_object(value, nesting) if nesting else "{…}"
    return value


def _shorten_members(members: list[Any], total: int) -> list[Any]:
    return members if total <= MAX_MEMBERS else [*members, f"… {total - MAX_MEMBERS} more"]


def _shorten_object(value: dict[str, Any], nesting: int) -> dict[str, Any]:
    pairs = {shorten_value(k): shorten_value(m, nesting - 1) for k, m in list(value.items())[:MAX_MEMBERS]}
    if len(value) > MAX_MEMBERS:
        pairs["…"] = f"{len(value) - MAX_MEMBERS} more"
    return pairs
