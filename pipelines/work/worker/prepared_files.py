"""Files that the command which prepares a repository adds to a folder, and where a worker stores them: by the
content of the lock file and of the definition, bounded together, until not used for long."""

from __future__ import annotations

import fcntl
import glob
import json
import os
import stat
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

from pipelines.work.file_measure import PIECE
from pipelines.work.results.files import remove_path
from pipelines.work.worker.prepared_copies import (
    PreparedCopies,
    PreparedCopy,
    file_stamp,
    stamp_by_path_in_folder,
)
from pipelines.work.workspace_folder.folders import remove_folder
from pipelines.work.workspaces import entries_below

FOLDER: Final = "prepared"
UNUSED_SECONDS: Final = 14 * 86_400.0
TOGETHER: Final = 10 * 1024**3
FILES, LOCK, CONTENT, PLACE = "files", "lock", "content.json", "place"
LARGEST_SCRIPT: Final = 64 * 1024
MAKING: Final = ".making"
FileMarks = Mapping[str, tuple[int, int, int]]
"""{path: (size, time, inode)}; of what is no file the mode in place of the size."""


def scan_file_marks(workspace: Path) -> FileMarks:
    """Everything in a folder but its `.git`. In a thread."""
    file_marks = {}
    for path, info in entries_below(workspace, (".git",)):
        is_file = stat.S_ISREG(info.st_mode)
        mark = (info.st_size, info.st_mtime_ns) if is_file else (stat.S_IFMT(info.st_mode), 0)
        file_marks[path.relative_to(workspace).as_posix()] = (*mark, info.st_ino)
    return file_marks


def added_topmost_paths(before: FileMarks, after: FileMarks) -> tuple[str, ...]:
    """The topmost paths that were not there: of a new folder the folder alone."""
    new = sorted(path for path in after if path not in before)
    return tuple(path for path in new if parent_path(path) in before or not parent_path(path))


def parent_path(path: str) -> str:
    folder = PurePosixPath(path).parent.as_posix()
    return "" if folder == "." else folder


@dataclass(frozen=True)
class EnvironmentFiles:
    """Prepared files in the folder of a station. `copies`: of `roots`, those of which the next station may take what
    this one leaves."""

    roots: tuple[str, ...] = ()
    copies: tuple[PreparedCopy, ...] = ()


@dataclass(frozen=True)
class StoredFiles:
    """Entry of the store. `scripts`: files that name the folder in which they were made, `place`; `size` in bytes."""

    id: str
    roots: tuple[str, ...]
    scripts: tuple[str, ...]
    size: int
    folder: Path
    place: bytes

    @classmethod
    def read(cls, folder: Path) -> StoredFiles:
        """:raises FileNotFoundError: it was removed"""
        content: dict[str, Any] = json.loads((folder / CONTENT).read_text("utf-8"))
        fields = (content["id"], tuple(content["roots"]), tuple(content["scripts"]), content["size"])
        return cls(*fields, folder, (folder / PLACE).read_bytes())

    def write(self) -> None:
        content = {"id": self.id, "roots": self.roots, "scripts": self.scripts, "size": self.size}
        (self.folder / CONTENT).write_text(json.dumps(content), "utf-8")
        (self.folder / PLACE).write_bytes(self.place)

    def rewrite_files_that_name_place(self, root: str, into: Path, workspace: Path) -> list[str]:
        """Write those files of a root anew that name their place: else they would name the folder of the station that
        prepared, which is gone. Return their paths below the root."""
        paths = [path for path in self.scripts if path == root or path.startswith(f"{root}/")]
        for path in paths:
            source, target = self.folder / FILES / path, into / PurePosixPath(path).relative_to(root)
            target.unlink(missing_ok=True)
            # Of now: what Python compiled from the old content has its time
            target.write_bytes(source.read_bytes().replace(self.place, os.fsencode(workspace)))
            target.chmod(stat.S_IMODE(source.lstat().st_mode))
        return [PurePosixPath(path).relative_to(root).as_posix() for path in paths]


class PreparedFiles:
    """Prepared files of one worker's machine. Entries appear whole: they are written beside, and renamed.
    `copies`: what stations of this worker leave of them."""

    def __init__(
        self, workspaces: Path, copies: PreparedCopies | None = None, together: int = TOGETHER
    ) -> None:
        self.base, self.together, self._copies = workspaces / FOLDER, together, copies

    def fill_from_stored(self, key: str, workspace: Path) -> EnvironmentFiles | None:
        """Put what is stored into the folder. None where nothing is stored, or where something stands in its place."""
        with self._locking_entry(key) as stored:
            if stored is None:
                return None
            roots = stored.roots
            if any(os.path.lexists(workspace / root) or not is_inside(workspace, root) for root in roots):
                return None
            # Its time is that of the last use, by which `expire` goes
            os.utime(stored.folder / LOCK)
            made = [self._put_root_into_folder_or_none(stored, root, workspace) for root in roots]
            return EnvironmentFiles(roots, tuple(filter(None, made)))

    def _put_root_into_folder_or_none(
        self, stored: StoredFiles, root: str, workspace: Path
    ) -> PreparedCopy | None:
        """Put one root into a folder: the copy that an earlier station left, else a new one."""
        place = workspace / root
        left = self._copies.take_untouched_copy_and_stamps_or_none(stored.id, root) if self._copies else None
        if left is None:
            _copy_tree_and_return_size(stored.folder / FILES / root, place)
            stored.rewrite_files_that_name_place(root, place, workspace)
            return self._prepared_copy_of_root_or_none(stored, root, workspace)
        aside, stamps = left
        aside.rename(place)
        for path in stored.rewrite_files_that_name_place(root, place, workspace):
            for changed in (path, parent_path(path)):
                stamps[changed] = file_stamp((place / changed).lstat())
        return PreparedCopy(stored.id, root, stamps)

    def _prepared_copy_of_root_or_none(
        self, stored: StoredFiles, root: str, workspace: Path
    ) -> PreparedCopy | None:
        is_folder = stat.S_ISDIR((workspace / root).lstat().st_mode)
        return (
            PreparedCopy(stored.id, root, stamp_by_path_in_folder(workspace / root))
            if self._copies and is_folder
            else None
        )

    def keep_files_of_station(self, files: EnvironmentFiles, workspace: Path) -> None:
        """Take prepared files out of the folder of a station whose processes are gone."""
        copies = {copy.root: copy for copy in files.copies}
        for root in files.roots:
            if self._copies and is_inside(workspace, root):
                self._copies.keep_copy(workspace / root, copies.get(root))
            remove_path(workspace, root)

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

    def store_prepared_files(self, key: str, workspace: Path, roots: tuple[str, ...]) -> EnvironmentFiles:
        """Store what a command made in this folder. :raises OSError: nothing is stored"""
        made, number = self.base / f".{uuid.uuid4().hex}", uuid.uuid4().hex
        place = os.fsencode(workspace)
        try:
            (made / FILES).mkdir(parents=True)
            inside = [root for root in roots if is_inside(workspace, root)]
            scripts = _scripts_naming_folder(workspace, inside, place)
            size = 0
            for root in inside:
                (made / FILES / root).parent.mkdir(parents=True, exist_ok=True)
                size += _copy_tree_and_return_size(workspace / root, made / FILES / root)
            stored = StoredFiles(number, roots, scripts, size, made, place)
            stored.write()
            (made / LOCK).touch()
            # No folder can take the name of one that is not empty: whoever was first stays
            if (self.base / key).exists():
                return EnvironmentFiles(roots)
            made.rename(self.base / key)
            copies = [self._prepared_copy_of_root_or_none(stored, root, workspace) for root in inside]
            return EnvironmentFiles(roots, tuple(filter(None, copies)))
        finally:
            remove_folder(made)

    def remove_unused_entries(self) -> int:
        """Remove what was not used for long; of the rest the longest unused, until there is room."""
        if not self.base.is_dir():
            return 0
        now, total, removed = time.time(), 0, 0
        locks = sorted(self.base.glob(f"*/{LOCK}"), key=lambda lock: -lock.stat().st_mtime)
        for lock in locks:
            try:
                total += StoredFiles.read(lock.parent).size
            except FileNotFoundError:
                # Another worker removes it, or an older Gateline made it
                removed += self._remove_unless_in_use(lock)
                continue
            if now - lock.stat().st_mtime > UNUSED_SECONDS or total > self.together:
                removed += self._remove_unless_in_use(lock)
        return removed

    def _remove_unless_in_use(self, lock: Path) -> bool:
        with lock.open("a") as lock_file:
            try:
                # Whoever copies from it holds it: it stays until the next time
                fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            remove_folder(lock.parent)
        return True

    @contextmanager
    def _locking_entry(self, key: str) -> Iterator[StoredFiles | None]:
        """Nobody removes it meanwhile."""
        try:
            lock = (self.base / key / LOCK).open("r")
        except FileNotFoundError:
            yield None
            return
        with lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            try:
                stored = StoredFiles.read(self.base / key)
            except FileNotFoundError:
                # It may have been removed between the opening and the lock
                stored = None
            yield stored


def _is_at_path(path: Path, opened: int) -> bool:
    try:
        return path.stat().st_ino == os.fstat(opened).st_ino
    except FileNotFoundError:
        return False


def is_inside(workspace: Path, root: str) -> bool:
    """Return whether the path leads through folders of the workspace alone: no link of the repository
    redirects it."""
    folder = parent_path(root)
    return (workspace / folder).is_dir() and (workspace / folder).resolve() == workspace.resolve() / folder


def _copy_tree_and_return_size(source: Path, target: Path) -> int:
    """Copy files with the time of their content, folders, and links as links; leave out pipes, sockets and devices. No
    process works there now. Return the bytes."""
    info = source.lstat()
    if stat.S_ISLNK(info.st_mode):
        target.symlink_to(os.readlink(source))
    elif stat.S_ISREG(info.st_mode):
        return _copy_file_and_return_size(str(source), str(target), info)
    elif stat.S_ISDIR(info.st_mode):
        return _copy_folder_and_return_size(str(source), str(target), info)
    return 0


def _copy_folder_and_return_size(source: str, target: str, info: os.stat_result) -> int:
    os.mkdir(target)
    size = 0
    with os.scandir(source) as scan:
        for entry in scan:
            child, place = entry.stat(follow_symlinks=False), f"{target}/{entry.name}"
            if stat.S_ISREG(child.st_mode):
                size += _copy_file_and_return_size(entry.path, place, child)
            elif stat.S_ISDIR(child.st_mode):
                size += _copy_folder_and_return_size(entry.path, place, child)
            elif stat.S_ISLNK(child.st_mode):
                os.symlink(os.readlink(entry.path), place)
    # Its owner may always: one without these rights could be neither copied again nor removed
    os.chmod(target, _permission_bits(info) | 0o700)
    return size


def _copy_file_and_return_size(source: str, target: str, info: os.stat_result) -> int:
    flags = os.O_NOFOLLOW | os.O_CLOEXEC
    reading = os.open(source, os.O_RDONLY | flags)
    try:
        writing = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | flags, 0o600)
        try:
            while piece := os.read(reading, PIECE):
                while piece:
                    piece = piece[os.write(writing, piece) :]
            os.fchmod(writing, _permission_bits(info))
            # Python takes what it compiled for as long as the file has the time that it had then
            os.utime(writing, ns=(info.st_mtime_ns, info.st_mtime_ns))
        finally:
            os.close(writing)
    finally:
        os.close(reading)
    return info.st_size


def _permission_bits(info: os.stat_result) -> int:
    """Return the mode without set-user-ID, set-group-ID and the sticky bit."""
    return stat.S_IMODE(info.st_mode) & 0o777


def _scripts_naming_folder(workspace: Path, roots: Sequence[str], place: bytes) -> tuple[str, ...]:
    """Return the files that name the folder they are in, and forget what Python compiled from them."""
    scripts = []
    for root in roots:
        below = [(workspace / root, (workspace / root).lstat())]
        below += entries_below(workspace / root) if stat.S_ISDIR(below[0][1].st_mode) else []
        for path, info in below:
            is_script = stat.S_ISREG(info.st_mode) and info.st_size <= LARGEST_SCRIPT
            if is_script and _names_its_place(path) and place in path.read_bytes():
                scripts.append(path)
    for path in scripts:
        for compiled in path.parent.glob(f"__pycache__/{glob.escape(path.stem)}.*.pyc"):
            compiled.unlink()
    return tuple(path.relative_to(workspace).as_posix() for path in scripts)


def _names_its_place(path: Path) -> bool:
    """Recognize what package managers write absolute paths into: links to the sources of the repository itself (an
    editable installation), and the first lines of programs."""
    editable = path.suffix == ".pth" or (path.name.startswith("__editable__") and path.suffix != ".pyc")
    return editable or path.parent.name in ("bin", ".bin")
