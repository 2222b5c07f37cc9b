"""The isolations of this machine, each for the tests that run behind both."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from pipelines.work.processes.isolation import CannotIsolate, Isolation, Places
from pipelines.work.processes.isolation_choice import choose_isolation

BOTH: Final = ("bubblewrap", "landlock")
NOT_TRIED: Final = "does not work on this machine"


async def isolation_or_skip(name: str, places: Places, workspaces: Path) -> Isolation:
    """The one of this name, as a worker chooses it. A test is skipped without it, which fails in CI (`skips`)."""
    try:
        return (await choose_isolation(name, places, workspaces, None)).isolation
    except CannotIsolate as error:
        pytest.skip(f"{name} {NOT_TRIED}: {error}")
