"""Vibe Factory: workflows of stations and transitions (C1…C33)."""

from __future__ import annotations

from typing import Final

from pipelines.formats.foreign.system import (
    ForeignSystem,
    fault_without_lists,
    sign_of_list_member,
)
from pipelines.formats.foreign.vibe_factory.reader import read_workflow
from pipelines.formats.foreign.vibe_factory.writer import write_workflow

VIBE_FACTORY: Final = ForeignSystem(
    key="vibe-factory",
    name="Vibe Factory",
    what="a workflow of Vibe Factory",
    signs=(
        sign_of_list_member("stations", "workflow_id", "station_prompt", "is_terminator"),
        sign_of_list_member("transitions", "source_station_id", "condition_type"),
        sign_of_list_member("station_transitions", "source_station_id", "condition_type"),
        sign_of_list_member("", "source_station_id"),
    ),
    read=read_workflow,
    fault=fault_without_lists("Vibe Factory", "stations"),
    write=write_workflow,
)
