"""Flux: playbooks (D1…D21), and what its runs leave, which is no line."""

from __future__ import annotations

from typing import Final

from pipelines.formats.foreign.flux.reader import read_playbook
from pipelines.formats.foreign.flux.writer import write_playbook
from pipelines.formats.foreign.system import ForeignSystem, fault_without_lists, member_sign, object_sign

FLUX: Final = ForeignSystem(
    key="flux",
    name="Flux",
    what="a playbook of Flux",
    signs=(
        member_sign("stages", "onPass", "onFail", "fallback", "skill"),
        member_sign("", "onPass", "onComplete", "onExhausted", "maxIterations"),
        member_sign("rules", "severity", "onFail"),
    ),
    read=read_playbook,
    fault=fault_without_lists("Flux", "stages"),
    write=write_playbook,
    as_yaml=True,
)
FLUX_RECORD: Final = ForeignSystem(
    key="flux-record",
    name="Flux",
    what="a record of Flux",
    signs=(
        object_sign("flux:signal"),
        member_sign("", "flux:signal"),
        object_sign("verdict", "run", "issue"),
    ),
)
