"""AEEF: its state machine, out of transitions, or out of the records of what went (E1…E30)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pipelines.formats.foreign.aeef.reader import document_fault_or_none, read_machine
from pipelines.formats.foreign.aeef.writer import write_machine
from pipelines.formats.foreign.system import (
    ForeignSystem,
    indexed_members,
    sign_of_list_member,
    sign_of_listed_object,
    sign_of_object_with_keys,
)


def _schema_sign_or_none(document: Any) -> str | None:
    """A JSON Schema with an address of AEEF."""
    address = document.get("$id") if isinstance(document, Mapping) else None
    return "$id" if isinstance(address, str) and address.startswith("https://aeef.ai/") else None


def _provenance_sign_or_none(document: Any) -> str | None:
    """A record of how a change was made."""
    record = document.get("provenance") if isinstance(document, Mapping) else None
    parts = {"generation", "review", "compliance"}
    return "provenance" if isinstance(record, Mapping) and parts & record.keys() else None


def _transition_sign_or_none(document: Any) -> str | None:
    moved = document.get("transition") if isinstance(document, Mapping) else None
    if not isinstance(moved, Mapping) or "handler" in document:
        return None
    ends = moved.keys() >= {"from", "to"} or moved.keys() >= {"from_state", "to_state"}
    return "transition" if ends else None


def _transitions_sign_or_none(document: Any) -> str | None:
    """Transitions without a condition, or a list of what holds one."""
    for index, member in indexed_members(document, "transitions"):
        if {"from", "to"} <= member.keys() and "condition" not in member:
            return f"transitions[{index}].from"
        if _transition_sign_or_none(member):
            return f"transitions[{index}].transition"
    indexes = (index for index, member in indexed_members(document, "") if _transition_sign_or_none(member))
    return next((f"[{index}].transition" for index in indexes), None)


SEVERAL: Final = (
    sign_of_list_member("agents", "agent_id"),
    sign_of_list_member("events", "work_item_id"),
    sign_of_list_member("work_items", "stage_history"),
)
AEEF: Final = ForeignSystem(
    key="aeef",
    name="AEEF",
    what="a document of AEEF",
    signs=(
        sign_of_object_with_keys("agent_id", "contract_version"),
        *SEVERAL,
        sign_of_object_with_keys("handoff_id"),
        _provenance_sign_or_none,
        sign_of_object_with_keys("gate_id", "criteria_results"),
        sign_of_object_with_keys("work_item_id"),
        sign_of_list_member("transitions", "requires", "produces"),
        _transition_sign_or_none,
        _transitions_sign_or_none,
        sign_of_object_with_keys("stage_history"),
        sign_of_list_member("", "agent_id", "stage_history", "work_item_id"),
        sign_of_listed_object(*SEVERAL),
        _schema_sign_or_none,
    ),
    read=read_machine,
    fault=document_fault_or_none,
    write=write_machine,
    as_yaml=True,
)
