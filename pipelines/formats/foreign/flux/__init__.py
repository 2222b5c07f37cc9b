"""Flux: playbooks (D1…D21), and what its runs leave, which is no line."""

from __future__ import annotations

from typing import Final

from pipelines.formats.foreign.flux.reader import read_playbook
from pipelines.formats.foreign.flux.writer import write_playbook
from pipelines.formats.foreign.system import ForeignSystem, among, has, lacking

FLUX: Final = ForeignSystem(
    key="flux",
    name="Flux",
    what="a playbook of Flux",
    signs=(
        among("stages", "onPass", "onFail", "fallback", "skill"),
        among("", "onPass", "onComplete", "onExhausted", "maxIterations"),
        among("rules", "severity", "onFail"),
    ),
    read=read_playbook,
    fault=lacking("Flux", "stages"),
    write=write_playbook,
    as_yaml=True,
)
FLUX_RECORD: Final = ForeignSystem(
    key="flux-record",
    name="Flux",
    what="a record of Flux",
    signs=(
        has("flux:signal"),
        among("", "flux:signal"),
        has("verdict", "run", "issue"),
    ),
)
