"""Places of the installation that stations run by it may read, and those that none may see (house §5)."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from pipelines.work.processes.isolation import (
    Isolation,
    Places,
    isolation_places,
    link_folders,
    unlistable_folders,
)

# State folders that a checkout of this project may hold, besides the one in use.
STATE_FOLDERS: Final = (".gateline", ".test-state")
# Of this installation: the demo's programs, our agent, and what reads a workspace's repositories behind the isolation
# of its station. Each runs by its path and imports nothing of ours: no folder above may be listed.
PROGRAMS: Final = (
    "pipelines/lines/demo",
    "pipelines/work/agents/codemod.py",
    "pipelines/work/results/git_changes.py",
)


def installation_places(
    base: Path,
    path: Iterable[str],
    readable: Iterable[str | Path] = (),
    hidden: Iterable[str | Path] = (),
) -> Places:
    """Return the places that every station may read: programs and listed folders, of this installation
    (`base`) no more than they need; and those that none may."""
    programs = [Path(folder) for folder in path]
    roots = [
        Path(sys.prefix),
        Path(sys.base_prefix),
        *link_folders(Path(sys.executable)),
        *(base / program for program in PROGRAMS),
        *programs,
        *(folder.parent for folder in programs if is_installation(folder)),
        *map(Path, readable),
    ]
    covered = [*map(Path, hidden), *(base / name for name in STATE_FOLDERS)]
    return isolation_places(roots, covered, Path.home(), installation=[base])


def unlistable_notices(isolation: Isolation) -> list[str]:
    """Say what stations here cannot do although a setting lists it, with the remedy."""
    return [
        f"Stations cannot list {root}, because Landlock could not hide {place} then. List the folders below it that "
        "they need."
        for root, place in unlistable_folders(isolation)
    ]


def is_installation(folder: Path) -> bool:
    """Return whether a folder of programs has its libraries in the folder beside it, as
    ~/.nvm/versions/node/v20/bin does; ~/.local and a home itself hold other things too."""
    parent, home = folder.parent, Path.home()
    if folder.name != "bin" or home.is_relative_to(parent):
        return False
    return not parent.is_relative_to(home) or len(parent.relative_to(home).parts) > 1
