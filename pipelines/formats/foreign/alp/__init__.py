"""ALP, the Assembly Line Protocol of Agentics (A1…A31): one document, or the files of `.agentics` put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pipelines.formats.foreign.alp.reader import read_assembly_line
from pipelines.formats.foreign.alp.writer import write_assembly_line
from pipelines.formats.foreign.system import (
    ForeignSystem,
    fault_without_lists,
    indexed_members,
    sign_of_list_member,
    sign_of_object_with_keys,
)

HEAD: Final = {"id", "name", "description", "version", "owner", "project"}


def _rules_sign_or_none(document: Any) -> str | None:
    """A list of rules."""
    indexes = (
        index
        for index, member in indexed_members(document, "")
        if {"from", "to", "condition"} <= member.keys()
    )
    return next((f"[{index}].from" for index in indexes), None)


def _head_sign_or_none(document: Any) -> str | None:
    """Return the sign of the head of a line whose stations lie in files of their own."""
    if (
        not isinstance(document, Mapping)
        or not isinstance(document.get("version"), str)
        or "name" not in document
    ):
        return None
    return "version" if document.keys() <= HEAD else None


ALP: Final = ForeignSystem(
    key="alp",
    name="ALP (Agentics)",
    what="an assembly line of ALP (Agentics)",
    signs=(
        sign_of_object_with_keys("transitionRules"),
        sign_of_list_member("stations", "trigger"),
        sign_of_list_member("columns", "trigger"),
        sign_of_list_member("transitions", "fromStationId", "fromColumnId"),
        sign_of_list_member("", "fromStationId", "fromColumnId", "requiresApproval"),
        _rules_sign_or_none,
        sign_of_object_with_keys("trigger", "id", "name"),
        _head_sign_or_none,
    ),
    read=read_assembly_line,
    fault=fault_without_lists("ALP (Agentics)", "stations", "columns"),
    write=write_assembly_line,
)
