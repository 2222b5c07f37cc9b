"""The files of a station while it runs: it may change any of them at any moment, and put a link in place of a folder.
No step of the way is a link, whatever it does: each folder is opened from the one above it."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from pipelines.work.file_measure import measure_file
from pipelines.work.results.files import FileRefused, open_plain_file
from pipelines.work.workspaces import Entry, check_path_length, is_utf8

MOST_FILES: Final = 20_000
MOST_BYTES: Final = 256 * 1024**2


class TooMuchToMeasure(Exception):
    """The files are more than are measured while their station runs."""


@contextmanager
def pinned_folder(folder: Path) -> Iterator[tuple[int, Path]]:
    """Yield a descriptor of the folder, and a path to the very folder that was opened: the station may put a link in
    its place. :raises OSError: it did"""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield descriptor, Path(f"/proc/self/fd/{descriptor}") if sys.platform == "linux" else folder
    finally:
        os.close(descriptor)


def files_so_far(
    descriptor: int, workspace: Path, but: Collection[str], *, digests: bool
) -> tuple[Entry, ...]:
    """Return a manifest as `picture_of_workspace` does, of a pinned folder; without `digests` where nobody asks for
    them. What is gone while it is looked at is left out. In a thread. :raises TooMuchToMeasure,
    WorkspaceTooLarge, OSError"""
    entries: list[Entry] = []
    size = 0
    for entry in _entries_below(descriptor, but):
        size += entry.get("size", 0)
        # Before it is read: an agent may make a file that grows as fast as it is hashed
        if len(entries) >= MOST_FILES or size > MOST_BYTES:
            raise TooMuchToMeasure
        if digests and "size" in entry:
            with suppress(FileRefused), open_plain_file(workspace, entry["path"]) as file:
                measured = measure_file(file)
                entries.append({**entry, "digest": measured.digest, "size": measured.size})
            continue
        entries.append(entry)
    entries.sort(key=lambda entry: str(entry["path"]))
    return tuple(entries)


def _entries_below(descriptor: int, but: Collection[str]) -> Iterator[Entry]:
    # By descriptors, and never through a link: see os.fwalk
    for folder, folders, names, here in os.fwalk(".", follow_symlinks=False, dir_fd=descriptor):
        prefix = "" if folder == "." else f"{folder.removeprefix('./')}/"
        folders[:] = [name for name in folders if f"{prefix}{name}" not in but and is_utf8(name)]
        for name in (*folders, *names):
            path = f"{prefix}{name}"
            if path in but or not is_utf8(name):
                continue
            check_path_length(path)
            # It may be gone, or be another thing, since the folder was listed
            with suppress(FileNotFoundError, NotADirectoryError):
                if (entry := _entry_or_none(path, name, here)) is not None:
                    yield entry


def _entry_or_none(path: str, name: str, here: int) -> Entry | None:
    info = os.stat(name, dir_fd=here, follow_symlinks=False)
    mode = stat.S_IMODE(info.st_mode) & 0o777
    if stat.S_ISDIR(info.st_mode):
        return {"path": path, "mode": mode, "folder": True}
    if stat.S_ISLNK(info.st_mode):
        target = os.readlink(name, dir_fd=here)
        return {"path": path, "link": target} if is_utf8(target) else None
    return {"path": path, "mode": mode, "size": info.st_size} if stat.S_ISREG(info.st_mode) else None
