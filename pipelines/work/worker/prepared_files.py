"""Files that the command which prepares a repository adds to a folder, and where a worker stores them: by the
content of the lock file and of the definition, bounded together, until not used for long."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

from pipelines.work.workspace_folder.folders import remove
from pipelines.work.workspaces import entries

FOLDER: Final = "prepared"
UNUSED_SECONDS: Final = 14 * 86_400.0
TOGETHER: Final = 10 * 1024**3
FILES, LOCK, ROOTS, PLACE = "files", "lock", "roots.json", "place"
LARGEST_SCRIPT: Final = 64 * 1024
MAKING: Final = ".making"
FolderState = Mapping[str, tuple[int, int, int]]
"""{path: (size, time, inode)}; of what is no file the mode in place of the size."""


def read_folder_state(workspace: Path) -> FolderState:
    """Everything in a folder but its `.git`. In a thread."""
    file_marks = {}
    for path, info in entries(workspace, (".git",)):
        is_file = stat.S_ISREG(info.st_mode)
        mark = (info.st_size, info.st_mtime_ns) if is_file else (stat.S_IFMT(info.st_mode), 0)
        file_marks[path.relative_to(workspace).as_posix()] = (*mark, info.st_ino)
    return file_marks


def added(before: FolderState, after: FolderState) -> tuple[str, ...]:
    """The topmost paths that were not there: of a new folder the folder alone."""
    new = sorted(path for path in after if path not in before)
    return tuple(path for path in new if parent(path) in before or not parent(path))


def parent(path: str) -> str:
    folder = PurePosixPath(path).parent.as_posix()
    return "" if folder == "." else folder


class PreparedFiles:
    """Prepared files of one worker's machine. Entries appear whole: they are written beside, and renamed."""

    def __init__(self, workspaces: Path, together: int = TOGETHER) -> None:
        self.base, self.together = workspaces / FOLDER, together

    def take(self, key: str, workspace: Path) -> tuple[str, ...] | None:
        """Copy what is kept into the folder. :return: its topmost paths; None where nothing is kept, or where something
        stands in its place"""
        with self._locking_entry(key) as entry:
            if entry is None:
                return None
            roots = tuple(json.loads((entry / ROOTS).read_text("utf-8")))
            if any(os.path.lexists(workspace / root) or not _inside(workspace, root) for root in roots):
                return None
            # Its time is that of the last use, by which `expire` goes
            os.utime(entry / LOCK)
            moved = ((entry / PLACE).read_bytes(), os.fsencode(workspace))
            for root in roots:
                _copied(entry / FILES / root, workspace / root, moved)
            return roots

    @contextmanager
    def making_entry(self, key: str) -> Iterator[bool]:
        """Yield whether nobody else on this machine makes the entry of this key; nobody does until the end of
        the block. The system releases it for a process that was killed."""
        path = self.base / MAKING / key
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            # Who held it before may have removed the name since it was opened.
            is_owner = _is_at_path(path, file.fileno())
            try:
                yield is_owner
            finally:
                if is_owner:
                    path.unlink(missing_ok=True)

    def keep(self, key: str, workspace: Path, roots: tuple[str, ...]) -> None:
        """:raises OSError: nothing is kept"""
        made = self.base / f".{uuid.uuid4().hex}"
        try:
            for root in roots:
                if _inside(workspace, root):
                    (made / FILES / root).parent.mkdir(parents=True, exist_ok=True)
                    _copied(workspace / root, made / FILES / root)
            (made / FILES).mkdir(parents=True, exist_ok=True)
            (made / ROOTS).write_text(json.dumps(roots), "utf-8")
            (made / PLACE).write_bytes(os.fsencode(workspace))
            (made / LOCK).touch()
            # No folder can take the name of one that is not empty: whoever was first stays
            if not (self.base / key).exists():
                made.rename(self.base / key)
        finally:
            remove(made)

    def expire(self) -> int:
        """Remove what was not used for long; of the rest the longest unused, until there is room."""
        if not self.base.is_dir():
            return 0
        now, total, removed = time.time(), 0, 0
        locks = sorted(self.base.glob(f"*/{LOCK}"), key=lambda lock: -lock.stat().st_mtime)
        for lock in locks:
            files = (info for _path, info in entries(lock.parent) if stat.S_ISREG(info.st_mode))
            total += sum(info.st_size for info in files)
            if now - lock.stat().st_mtime > UNUSED_SECONDS or total > self.together:
                removed += self._removed(lock)
        return removed

    def _removed(self, lock: Path) -> bool:
        with lock.open("a") as lock_file:
            try:
                # Whoever copies from it holds it: it stays until the next time
                fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            remove(lock.parent)
        return True

    @contextmanager
    def _locking_entry(self, key: str) -> Iterator[Path | None]:
        """Nobody removes it meanwhile."""
        try:
            lock = (self.base / key / LOCK).open("r")
        except FileNotFoundError:
            yield None
            return
        with lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            # It may have been removed between the opening and the lock
            there = all((self.base / key / name).is_file() for name in (ROOTS, PLACE))
            yield self.base / key if there else None


def _is_at_path(path: Path, opened: int) -> bool:
    try:
        return path.stat().st_ino == os.fstat(opened).st_ino
    except FileNotFoundError:
        return False


def _inside(workspace: Path, root: str) -> bool:
    """Return whether the path leads through folders of the workspace alone: no link of the repository
    redirects it."""
    folder = parent(root)
    return (workspace / folder).is_dir() and (workspace / folder).resolve() == workspace.resolve() / folder


def _copied(source: Path, target: Path, moved: tuple[bytes, bytes] = (b"", b"")) -> None:
    """Copy files, folders, and links as links; leave out pipes, sockets and devices. No process works there now.

    `moved`: the old and the new path of the folder, in files that name where they are
    """
    info = source.lstat()
    if stat.S_ISLNK(info.st_mode):
        target.symlink_to(os.readlink(source))
    elif stat.S_ISREG(info.st_mode):
        # Else they would name the folder of the station that prepared, which is gone
        if moved[0] and info.st_size <= LARGEST_SCRIPT and _names_its_place(source):
            target.write_bytes(source.read_bytes().replace(*moved))
        else:
            shutil.copyfile(source, target)
        # Without set-user-ID, set-group-ID and the sticky bit
        target.chmod(stat.S_IMODE(info.st_mode) & 0o777)
    elif stat.S_ISDIR(info.st_mode):
        target.mkdir()
        for child in sorted(source.iterdir()):
            _copied(child, target / child.name, moved)
        # Its owner may always: one without these rights could be neither copied again nor removed
        target.chmod(stat.S_IMODE(info.st_mode) & 0o777 | 0o700)


def _names_its_place(path: Path) -> bool:
    """Recognize what package managers write absolute paths into: links to the sources of the repository itself (an
    editable installation), and the first lines of programs."""
    editable = path.suffix == ".pth" or path.name.startswith("__editable__")
    return editable or path.parent.name in ("bin", ".bin")
