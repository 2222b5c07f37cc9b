"""Making a folder that is nobody else's, seeing whether somebody works in one, and removing one."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import uuid
from collections.abc import Callable
from pathlib import Path


class ForeignFolder(OSError):
    """The folder is a link, no folder, or somebody else's."""


def make_private(folder: Path) -> None:
    """Makes the folder, for its user alone, with those on the way to it.

    :raises OSError: it cannot be made or written to
    :raises ForeignFolder: somebody else made it, or can put another in its place
    """
    for above in reversed(folder.parents):
        if not above.exists():
            above.mkdir(mode=0o700, exist_ok=True)
        mode = above.stat().st_mode
        # With the sticky bit, as /tmp has it, only its owner can replace a folder
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise ForeignFolder(f"everybody can replace what is in {above}")
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            raise ForeignFolder(f"{folder} is somebody else's") from None
        folder.chmod(0o700)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{folder} cannot be written to")


def runs_programs(folder: Path) -> bool:
    """Tell whether its file system lets programs be started from it."""
    # Not every system has the constant
    return not os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0)


def is_in_use(folder: Path) -> bool:
    """Tell whether the worker whose folder this is still lives."""
    try:
        with (folder / "lock").open("a") as lock:
            # The kernel frees the lock of a process that is gone, however it ended
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def has_worker(workspaces: Path) -> bool:
    """Tell whether any worker lives that works in one of its folders."""
    try:
        return any((path / "lock").is_file() and is_in_use(path) for path in workspaces.iterdir())
    except FileNotFoundError:
        return False


def remove_folder(folder: Path) -> None:
    """Remove a folder, whatever rights a station left on what is in it, and however deep it nested it."""

    def unlock_and_remove_again(function: Callable[[str], object], path: str, _: object) -> None:
        parent = os.path.dirname(path)
        for place in (parent, path):
            if os.path.isdir(place) and not os.path.islink(place):
                os.chmod(place, 0o700)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        elif os.path.lexists(path):
            os.unlink(path)

    if not folder.exists():
        return
    try:
        shutil.rmtree(folder, onerror=unlock_and_remove_again)
    except RecursionError:
        # Python goes one call deeper for each level, and a station can make more of them than it allows
        _lift_nested_folders(folder)
        shutil.rmtree(folder, onerror=unlock_and_remove_again)


def _lift_nested_folders(top: Path) -> None:
    """Put every folder that lies below `top` into `top` itself, so that no path is long and nothing is nested."""
    waiting = [str(top)]
    while waiting:
        here = waiting.pop()
        with os.scandir(here) as scan:
            inner = [entry.path for entry in scan if entry.is_dir(follow_symlinks=False)]
        for path in inner:
            # Only its owner's own rights let a folder be moved and looked into
            os.chmod(path, 0o700)
            lifted = os.path.join(top, uuid.uuid4().hex)
            os.rename(path, lifted)
            waiting.append(lifted)
