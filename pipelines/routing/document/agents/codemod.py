"""A program of ours that needs no key and no network: it runs the fixers that a folder is set up for."""

from __future__ import annotations

from pipelines.routing.document.agents.preset import Preset

PRESET = Preset(
    key="codemod",
    name="Codemod",
    argv=("gateline-codemod",),
    allow_command=("--run", "{command}"),
    dialect="codemod",
    final_event="end",
    fixed=True,
    versions=("1",),
)
