"""contenox: task chains (B1…B20)."""

from __future__ import annotations

from typing import Final

from pipelines.formats.foreign.contenox.reader import read_chain
from pipelines.formats.foreign.contenox.writer import write_chain
from pipelines.formats.foreign.system import (
    ForeignSystem,
    fault_without_lists,
    sign_of_list_member,
    sign_of_object_with_keys,
)

CONTENOX: Final = ForeignSystem(
    key="contenox",
    name="contenox",
    what="a task chain of contenox",
    signs=(sign_of_list_member("tasks", "handler"), sign_of_object_with_keys("handler", "transition")),
    read=read_chain,
    fault=fault_without_lists("contenox", "tasks"),
    write=write_chain,
)
