"""Copies of prepared files that stations worked with, each for the next station that takes the same: a folder of
thousands of files is looked through in a fraction of the time that copying and removing it takes."""

from __future__ import annotations

import os
import stat
import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pipelines.work.workspaces import Folders

FOLDER: Final = "copies"
MOST_FILES: Final = 150_000
ITSELF: Final = ""
Stamp = tuple[int, int, int]
Stamps = Mapping[str, Stamp]
"""{path: (mode, inode, time of the last change)} of all in a folder, of the folder itself as ITSELF. That time is the
kernel's (ctime): a program that writes into a file and puts its size and its other time back moves it all the same, and
so does one that links or renames it."""


@dataclass(frozen=True)
class PreparedCopy:
    """Folder `root` of a workspace, made of the stored `entry`."""

    entry: str
    root: str
    stamps: Stamps = field(repr=False)


class PreparedCopies:
    """Copies of one worker's stations. They lie with its own folders, and are removed with them.
    `most`: files of all of them together."""

    def __init__(self, folders: Folders, most: int = MOST_FILES) -> None:
        self._folders, self._most = folders, most
        self._left: list[tuple[PreparedCopy, Path]] = []
        self._lock = threading.Lock()

    def keep_copy(self, place: Path, copy: PreparedCopy | None) -> None:
        """Take prepared files out of the folder of a station whose processes are gone; the oldest make room.
        `copy`: what they were; None of what no other station may take."""
        try:
            if copy is None or file_stamp(place.lstat())[:2] != copy.stamps[ITSELF][:2]:
                self._folders.removals.move_aside_and_remove_soon(place)
                return
            aside = self._folders.home / FOLDER / uuid.uuid4().hex
            aside.parent.mkdir(mode=0o700, exist_ok=True)
            place.rename(aside)
        except OSError:
            return
        with self._lock:
            self._left.append((copy, aside))
            surplus = []
            while sum(len(copy.stamps) for copy, _place in self._left) > self._most:
                surplus.append(self._left.pop(0)[1])
        for old in surplus:
            self._folders.removals.move_aside_and_remove_soon(old)

    def take_untouched_copy_and_stamps_or_none(
        self, entry: str, root: str
    ) -> tuple[Path, dict[str, Stamp]] | None:
        """Return a copy as it was made, and its stamps; None where no station left one like that."""
        while (left := self._take_latest_copy_and_place_or_none(entry, root)) is not None:
            copy, place = left
            if (stamps := self._restore_if_unchanged(place, copy.stamps)) is not None:
                return place, stamps
            self._folders.removals.move_aside_and_remove_soon(place)
        return None

    def remove_all_copies(self) -> None:
        with self._lock:
            left, self._left = self._left, []
        for _copy, place in left:
            self._folders.removals.move_aside_and_remove_soon(place)

    def _take_latest_copy_and_place_or_none(self, entry: str, root: str) -> tuple[PreparedCopy, Path] | None:
        with self._lock:
            for index in reversed(range(len(self._left))):
                copy = self._left[index][0]
                if (copy.entry, copy.root) == (entry, root):
                    return self._left.pop(index)
        return None

    def _restore_if_unchanged(self, place: Path, stamps: Stamps) -> dict[str, Stamp] | None:
        """Remove what a station added. None where it changed or removed anything."""
        try:
            more, touched = added_paths_and_changed_folders(place, stamps)
            for path in more:
                if path.is_dir() and not path.is_symlink():
                    self._folders.removals.move_aside_and_remove_soon(path)
                else:
                    path.unlink()
            return {**stamps, **{folder: file_stamp((place / folder).lstat()) for folder in touched}}
        except (Touched, OSError):
            return None


class Touched(Exception):
    """A station changed or removed what was prepared."""


def file_stamp(info: os.stat_result) -> Stamp:
    return info.st_mode, info.st_ino, info.st_ctime_ns


def stamp_by_path_in_folder(folder: Path) -> dict[str, Stamp]:
    """Return the stamps of everything in a folder. In a thread."""
    stamps = {ITSELF: file_stamp(folder.lstat())}
    pending = [ITSELF]
    while pending:
        below = pending.pop()
        with os.scandir(folder / below) as scan:
            for entry in scan:
                path = f"{below}/{entry.name}" if below else entry.name
                stamps[path] = file_stamp(entry.stat(follow_symlinks=False))
                if stat.S_ISDIR(stamps[path][0]):
                    pending.append(path)
    return stamps


def added_paths_and_changed_folders(folder: Path, stamps: Stamps) -> tuple[list[Path], list[str]]:
    """Return what was added since these stamps, the topmost paths, and the folders to which something was added.

    :raises Touched: something else was changed"""
    more, touched = list[Path](), list[str]()
    # A folder that was moved is a changed one, and its parent names it
    _check_folder_stamp(folder, stamps[ITSELF], file_stamp(folder.lstat()))
    pending, count = [ITSELF], 1
    while pending:
        below = pending.pop()
        with os.scandir(folder / below) as scan:
            for entry in scan:
                path = f"{below}/{entry.name}" if below else entry.name
                before = stamps.get(path)
                if before is None:
                    more.append(Path(entry.path))
                    continue
                count += 1
                now = file_stamp(entry.stat(follow_symlinks=False))
                if stat.S_ISDIR(now[0]):
                    pending.append(path)
                if now == before:
                    continue
                _check_folder_stamp(Path(entry.path), before, now)
                touched.append(path)
    if count != len(stamps):
        raise Touched
    return more, touched


def _check_folder_stamp(path: Path, before: Stamp, now: Stamp) -> None:
    """Accept a folder that has other entries than before, of whose names its reader decides. :raises Touched"""
    if not stat.S_ISDIR(now[0]) or now[:2] != before[:2] or _has_attributes(path):
        raise Touched


def _has_attributes(folder: Path) -> bool:
    """Return whether somebody gave a folder attributes, such as rights for what is made in it later."""
    # Not every system has them; labels of SELinux are no doing of a station
    names = os.listxattr(folder, follow_symlinks=False) if hasattr(os, "listxattr") else []
    return any(not name.startswith("security.") for name in names)
