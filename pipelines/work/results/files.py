"""Reading what a station left in its folder, without ever following a link out of it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO


class FileRefused(Exception):
    """The path does not name a plain file inside the folder."""


@contextmanager
def open_plain_file(root: Path, relative: str) -> Iterator[BinaryIO]:
    """Open a plain file below `root` for reading. No part of the path may be a link: the station could redirect
    it. :raises FileRefused: absolute, with `..`, through a link, missing, or no plain file"""
    descriptor = _open_below(root, _checked_path_parts(relative))
    # Before it is opened as a stream, which takes no folder and would leave the descriptor open
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileRefused(f"{relative} is not a plain file")
    with os.fdopen(descriptor, "rb") as file:
        yield file


def remove_path(root: Path, relative: str) -> None:
    """Remove what stands below `root` under this name, a folder with all that is in it, if no step of the way is a
    link."""
    *folders, name = _checked_path_parts(relative)
    try:
        here = _open_below(root, tuple(folders), of_folder=True)
    except FileRefused:
        return
    try:
        # Nested deeper than Python follows it, it is left to whoever removes the whole attempt
        with suppress(OSError, RecursionError):
            if stat.S_ISDIR(os.lstat(name, dir_fd=here).st_mode):
                _remove_folder(name, here)
            else:
                os.unlink(name, dir_fd=here)
    finally:
        os.close(here)


def restore_folder(folder: Path, *, required: bool = True) -> bool:
    """Put an empty folder in place of anything else that a station put there, such as a link to a folder outside; its
    processes are gone. `required`: also where there is nothing. :return: whether something else stood there"""
    try:
        replaced = not stat.S_ISDIR(os.lstat(folder).st_mode)
    except FileNotFoundError:
        replaced = False
        missing = required
    else:
        missing = replaced
    if replaced:
        os.unlink(folder)
    if missing:
        folder.mkdir(mode=0o700)
    return replaced


def write_anew(root: Path, relative: str, data: bytes) -> None:
    """Write a new file in place of what stands below `root` under this name.

    :raises FileRefused: a step of the way is a link, or missing; OSError"""
    *folders, name = _checked_path_parts(relative)
    here = _open_below(root, tuple(folders), of_folder=True)
    try:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=here)
        # O_EXCL: a link that somebody puts there in this moment is not followed
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, 0o600, dir_fd=here), "wb") as file:
            file.write(data)
    finally:
        os.close(here)


def _remove_folder(name: str, inside: int) -> None:
    def leave_to_whoever_removes_attempt(_function: object, _path: str, _error: object) -> None:
        """A folder that its owner may not write is left to whoever removes the whole attempt."""

    # By descriptor: the folder that was walked to, wherever its name leads by now
    shutil.rmtree(name, onerror=leave_to_whoever_removes_attempt, dir_fd=inside)


def _checked_path_parts(relative: str) -> tuple[str, ...]:
    path = PurePosixPath(relative)
    if not relative or "\x00" in relative or path.is_absolute() or ".." in path.parts or not path.parts:
        raise FileRefused(f"{relative!r} does not name a file inside the workspace")
    return path.parts


def _open_below(root: Path, parts: tuple[str, ...], of_folder: bool = False) -> int:
    """A descriptor of the last part, which is a file unless it is `of_folder`; O_NONBLOCK so that a pipe cannot hold us
    up."""
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for index, part in enumerate(parts):
            last = index == len(parts) - 1 and not of_folder
            # Step by step: O_NOFOLLOW holds for the last part of a path alone
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | (os.O_NONBLOCK if last else os.O_DIRECTORY)
            deeper = os.open(part, flags, dir_fd=here)
            os.close(here)
            here = deeper
    except (OSError, ValueError) as error:
        os.close(here)
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise FileRefused(f"{'/'.join(parts)}: {reason}") from error
    return here
