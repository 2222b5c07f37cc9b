"""AEEF: its state machine, out of transitions, or out of the records of what went (E1…E30)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pipelines.formats.foreign.aeef.reader import document_fault, read_machine
from pipelines.formats.foreign.aeef.writer import write_machine
from pipelines.formats.foreign.system import (
    ForeignSystem,
    indexed_members,
    list_sign,
    member_sign,
    object_sign,
)


def _schema_sign(document: Any) -> str | None:
    """A JSON Schema with an address of AEEF."""
    address = document.get("$id") if isinstance(document, Mapping) else None
    return "$id" if isinstance(address, str) and address.startswith("https://aeef.ai/") else None


def _provenance_sign(document: Any) -> str | None:
    """A record of how a change was made."""
    record = document.get("provenance") if isinstance(document, Mapping) else None
    parts = {"generation", "review", "compliance"}
    return "provenance" if isinstance(record, Mapping) and parts & record.keys() else None


def _transition_sign(document: Any) -> str | None:
    moved = document.get("transition") if isinstance(document, Mapping) else None
    if not isinstance(moved, Mapping) or "handler" in document:
        return None
    ends = moved.keys() >= {"from", "to"} or moved.keys() >= {"from_state", "to_state"}
    return "transition" if ends else None


def _transitions_sign(document: Any) -> str | None:
    """Transitions without a condition, or a list of what holds one."""
    for index, member in indexed_members(document, "transitions"):
        if {"from", "to"} <= member.keys() and "condition" not in member:
            return f"transitions[{index}].from"
        if _transition_sign(member):
            return f"transitions[{index}].transition"
    indexes = (index for index, member in indexed_members(document, "") if _transition_sign(member))
    return next((f"[{index}].transition" for index in indexes), None)


SEVERAL: Final = (
    member_sign("agents", "agent_id"),
    member_sign("events", "work_item_id"),
    member_sign("work_items", "stage_history"),
)
AEEF: Final = ForeignSystem(
    key="aeef",
    name="AEEF",
    what="a document of AEEF",
    signs=(
        object_sign("agent_id", "contract_version"),
        *SEVERAL,
        object_sign("handoff_id"),
        _provenance_sign,
        object_sign("gate_id", "criteria_results"),
        object_sign("work_item_id"),
        member_sign("transitions", "requires", "produces"),
        _transition_sign,
        _transitions_sign,
        object_sign("stage_history"),
        member_sign("", "agent_id", "stage_history", "work_item_id"),
        list_sign(*SEVERAL),
        _schema_sign,
    ),
    read=read_machine,
    fault=document_fault,
    write=write_machine,
    as_yaml=True,
)
