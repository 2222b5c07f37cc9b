"""Workspaces of an earlier place move to the one in use, once, while nobody works in them. A crash on the way loses
nothing: each part is renamed, or copied whole before it is removed, and the next start goes on."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pipelines.work.workspace_folder.choice import WorkspaceChoice
from pipelines.work.workspace_folder.folders import has_worker, make_private, remove_folder

LOCK: Final = "workspaces.lock"
HOMES: Final = "homes"
MIRRORS, KNOWN_HOSTS, IMAGES = ".mirrors", "known_hosts", "images"
UNFINISHED: Final = ".moving"


def move_earlier_folders(choice: WorkspaceChoice, folder: Path, say: Callable[[str], None]) -> None:
    """Empties every earlier place into the folder. `say`: takes a sentence for each that moves, or has to wait."""
    places = [place for place in choice.earlier_folders() if place.is_dir() and not _is_within(folder, place)]
    if not places:
        return
    with (choice.state / LOCK).open("a") as lock:
        # The second of two workers that start together waits for the first.
        fcntl.flock(lock, fcntl.LOCK_EX)
        for place in places:
            if has_worker(place):
                say(f"A worker still works in {place}: that folder moves to {folder} at the next start.")
            elif place.is_dir():
                _try_move(place, folder, say)
        for place in choice.earlier_folders():
            if not place.is_dir():
                choice.forget_emptied_folder(place)


def _try_move(place: Path, folder: Path, say: Callable[[str], None]) -> None:
    try:
        make_private(folder)
        _move_lasting_files(place, folder)
    except OSError as error:
        say(f"{place} could not be moved to {folder}, and is tried again at the next start: {error}")
    else:
        say(f"Moved the workspaces from {place} to {folder}.")


def _is_within(folder: Path, place: Path) -> bool:
    return folder.resolve().is_relative_to(place.resolve())


def _move_lasting_files(place: Path, folder: Path) -> None:
    """Move what cannot be made again: the homes of agents and the keys of hosts. Mirrors and images do where that is a
    matter of a name. Folders of attempts do not: their workers are gone, and snapshots have what is worth keeping."""
    (folder / HOMES).mkdir(mode=0o700, exist_ok=True)
    homes = sorted((place / HOMES).iterdir()) if (place / HOMES).is_dir() else []
    for home in homes:
        _copy_unless_there(home, folder / HOMES / home.name)
    for name in (MIRRORS, IMAGES):
        if not (folder / name).exists():
            _rename_if_possible(place / name, folder / name)
    if (place / MIRRORS / KNOWN_HOSTS).is_file():
        (folder / MIRRORS).mkdir(mode=0o700, exist_ok=True)
        _copy_unless_there(place / MIRRORS / KNOWN_HOSTS, folder / MIRRORS / KNOWN_HOSTS)
    # What was copied has to be on the disk before the original goes
    os.sync()
    remove_folder(place)


def _rename_if_possible(source: Path, target: Path) -> bool:
    """Tell whether it is there now: another file system takes copies only."""
    try:
        source.rename(target)
    except OSError:
        return False
    return True


def _copy_unless_there(source: Path, target: Path) -> None:
    """A target that is there already is newer, or was brought before a crash."""
    if target.exists() or _rename_if_possible(source, target):
        return
    unfinished = target.with_name(f"{UNFINISHED}-{target.name}")
    if unfinished.is_dir():
        remove_folder(unfinished)
    if source.is_dir():
        shutil.copytree(source, unfinished, symlinks=True, ignore=_special_files)
    else:
        shutil.copy2(source, unfinished)
    unfinished.rename(target)


def _special_files(folder: str, names: list[str]) -> list[str]:
    """Pipes, sockets and devices among the names, which no copy keeps."""
    modes = {name: os.lstat(os.path.join(folder, name)).st_mode for name in names}
    return [
        name
        for name, mode in modes.items()
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))
    ]
