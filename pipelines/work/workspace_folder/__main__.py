"""`make clean`: the workspaces of this checkout, which lie outside of it. Those of the tests go, as their state folder
does; of those of `.gateline` everything that a worker makes again. The homes of agents are state: sessions go on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from pipelines.work.workspace_folder.choice import read_record_or_none
from pipelines.work.workspace_folder.folders import has_worker, remove_folder
from pipelines.work.workspace_folder.workspace_move import HOMES, KNOWN_HOSTS, MIRRORS

ROOT: Final = Path(__file__).resolve().parents[3]
STATE, TESTS = ".gateline", ".test-state"


def main(root: Path = ROOT) -> None:
    """Only folders that this checkout itself chose: one that GATELINE_WORKSPACES names may be others' too."""
    for folder in _recorded_folders(root / TESTS):
        remove_folder(folder)
    for folder in _recorded_folders(root / STATE):
        if has_worker(folder):
            sys.exit(f"A worker still works in {folder}.\nStop Gateline, then run make clean again.")
        for path in folder.iterdir():
            if path.name not in (HOMES, MIRRORS):
                remove_folder(path)
        for path in (folder / MIRRORS).glob("*"):
            if path.is_dir():
                remove_folder(path)
            elif path.name != KNOWN_HOSTS:
                path.unlink()


def _recorded_folders(state: Path) -> list[Path]:
    """The folder that this very state folder chose, if it is there."""
    record = read_record_or_none(state)
    if record is None or record.state != state.resolve() or not record.folder.is_dir():
        return []
    return [record.folder]


if __name__ == "__main__":
    main()
