"""Flux: playbooks (D1…D21), and what its runs leave, which is no line."""

from __future__ import annotations

from typing import Final

from pipelines.formats.foreign.flux.reader import read_playbook
from pipelines.formats.foreign.flux.writer import write_playbook
from pipelines.formats.foreign.system import (
    ForeignSystem,
    fault_without_lists,
    sign_of_list_member,
    sign_of_object_with_keys,
)

FLUX: Final = ForeignSystem(
    key="flux",
    name="Flux",
    what="a playbook of Flux",
    signs=(
        sign_of_list_member("stages", "onPass", "onFail", "fallback", "skill"),
        sign_of_list_member("", "onPass", "onComplete", "onExhausted", "maxIterations"),
        sign_of_list_member("rules", "severity", "onFail"),
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
        sign_of_object_with_keys("flux:signal"),
        sign_of_list_member("", "flux:signal"),
        sign_of_object_with_keys("verdict", "run", "issue"),
    ),
)
