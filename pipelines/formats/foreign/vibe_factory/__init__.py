"""Vibe Factory: workflows of stations and transitions (C1…C33)."""

from __future__ import annotations

from typing import Final

from pipelines.formats.foreign.system import ForeignSystem, among, lacking
from pipelines.formats.foreign.vibe_factory.reader import read_workflow
from pipelines.formats.foreign.vibe_factory.writer import write_workflow

VIBE_FACTORY: Final = ForeignSystem(
    key="vibe-factory",
    name="Vibe Factory",
    what="a workflow of Vibe Factory",
    signs=(
        among("stations", "workflow_id", "station_prompt", "is_terminator"),
        among("transitions", "source_station_id", "condition_type"),
        among("station_transitions", "source_station_id", "condition_type"),
        among("", "source_station_id"),
    ),
    read=read_workflow,
    fault=lacking("Vibe Factory", "stations"),
    write=write_workflow,
)
