"""Folders for work. Every attempt has its own; between stations there is only the snapshot.

    <workspaces>/<worker>/<task>/<job>.<attempt>.<lease>/{workspace, tmp, result}

A worker may move its own folder on to the next attempt instead of copying it from the snapshot: the attempt that
filled it is over and its processes are gone (house §2). Nothing here touches the database.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rfc8785

from pipelines.work.file_measure import measure_file
from pipelines.work.spec.handler_io import Attempt
from pipelines.work.workspace_folder.folders import is_in_use, remove_folder
from pipelines.work.workspace_folder.removals import Removals

MOST_FILES = 100_000
MOST_BYTES = 2 * 1024**3
DEEPEST, LONGEST_PATH = 200, 3000
"""Folders of a path, and its bytes: Linux takes 4,096 with those of the workspace before it."""
HOMES, REMOVED = "homes", "removed"
MOST_HOMES, HOME_DAYS = 200, 14
# size, mtime, ctime and inode of a file whose digest is known
Stamp = tuple[int, int, int, int]
Entry = dict[str, Any]


class WorkspaceTooLarge(Exception):
    """The workspace holds more than a snapshot may."""


@dataclass(frozen=True)
class Picture:
    """Content of a workspace. `manifest`: [{path, mode, digest, size} | {path, mode, folder} | {path, link}],
    in order of the paths. `skipped`: what no snapshot includes: pipes, sockets, devices, and links to names that are
    not UTF-8."""

    manifest: tuple[Entry, ...]
    stamps: Mapping[str, tuple[Stamp, str]] = field(repr=False)
    skipped: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        return manifest_digest(self.manifest)

    @property
    def size(self) -> int:
        return sum(entry.get("size", 0) for entry in self.manifest)

    @property
    def files(self) -> dict[str, tuple[str, int]]:
        """{digest: (one path that has these bytes, how many)}"""
        return {
            entry["digest"]: (entry["path"], entry["size"]) for entry in self.manifest if "digest" in entry
        }


def manifest_digest(manifest: tuple[Entry, ...]) -> str:
    return hashlib.sha256(rfc8785.dumps(list(manifest))).hexdigest()


def file_stamp(info: os.stat_result) -> Stamp:
    return info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino


def picture_of_workspace(
    workspace: Path, known: Mapping[str, tuple[Stamp, str]] | None = None, but: Collection[str] = ()
) -> Picture:
    """Describe a workspace whose processes are gone. `known`: the stamps of an earlier picture of the same folder; what
    has not changed since is not read again. `but`: paths that are left out.

    :raises WorkspaceTooLarge: more than MOST_FILES entries or MOST_BYTES bytes, or nested too deep
    """
    manifest: list[Entry] = []
    stamps: dict[str, tuple[Stamp, str]] = {}
    skipped = []
    size = 0
    for path, info in entries_below(workspace, but):
        relative = path.relative_to(workspace).as_posix()
        mode = stat.S_IMODE(info.st_mode) & 0o777
        if stat.S_ISDIR(info.st_mode):
            manifest.append({"path": relative, "mode": mode, "folder": True})
        elif stat.S_ISLNK(info.st_mode) and is_utf8(target := os.readlink(path)):
            manifest.append({"path": relative, "link": target})
        elif stat.S_ISREG(info.st_mode):
            stamp = file_stamp(info)
            before = (known or {}).get(relative)
            digest = before[1] if before and before[0] == stamp else digest_of_file(path)
            stamps[relative] = (stamp, digest)
            manifest.append({"path": relative, "mode": mode, "digest": digest, "size": info.st_size})
            size += info.st_size
        else:
            skipped.append(relative)
        if len(manifest) > MOST_FILES or size > MOST_BYTES:
            raise WorkspaceTooLarge(f"more than {MOST_FILES} files or {MOST_BYTES >> 20} MiB")
    # A folder is read in any order, and the digest depends on it
    manifest.sort(key=lambda entry: str(entry["path"]))
    return Picture(tuple(manifest), stamps, tuple(skipped))


def entries_below(
    folder: Path, but: Collection[str] = (), below: str = ""
) -> Iterator[tuple[Path, os.stat_result]]:
    """Everything below, links not followed, `but` for these paths. A name that is not UTF-8 cannot be stored and is
    left out. :raises WorkspaceTooLarge: nested too deep"""
    with os.scandir(folder) as scan:
        for entry in scan:
            if not is_utf8(entry.name):
                continue
            path = f"{below}{entry.name}"
            if path in but:
                continue
            check_path_length(path)
            info = entry.stat(follow_symlinks=False)
            yield Path(entry.path), info
            if stat.S_ISDIR(info.st_mode):
                # A station may have taken its own rights off a folder
                if not os.access(entry.path, os.R_OK | os.X_OK):
                    os.chmod(entry.path, info.st_mode | 0o700)
                yield from entries_below(Path(entry.path), but, f"{path}/")


def is_utf8(text: str) -> bool:
    """Return whether a name as the system gives it can be stored."""
    return text.encode(errors="surrogateescape") == text.encode(errors="replace")


def check_path_length(path: str) -> None:
    """:raises WorkspaceTooLarge: no folder could be laid out with this path below it"""
    if path.count("/") > DEEPEST or len(os.fsencode(path)) > LONGEST_PATH:
        raise WorkspaceTooLarge(f"a path of more than {DEEPEST} folders or {LONGEST_PATH} bytes")


def digest_of_file(path: Path) -> str:
    # O_NONBLOCK: a pipe in the place of the file would hold us up
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        return measure_file(file).digest


def restore_workspace(
    manifest: tuple[Entry, ...], workspace: Path, fetch: Callable[[str, Path], None]
) -> None:
    """Build the workspace in an empty folder. `fetch(digest, path)` writes a new file."""
    modes = []
    for entry in manifest:
        path = workspace / entry["path"]
        if entry.get("folder"):
            path.mkdir()
            modes.append((path, entry["mode"]))
        elif "link" in entry:
            path.symlink_to(entry["link"])
        else:
            fetch(entry["digest"], path)
            path.chmod(entry["mode"])
    # In the end, the inner ones first: nothing could be written into a read-only folder
    for path, mode in reversed(modes):
        path.chmod(mode)


@dataclass
class ReusableFolder:
    """The folder of a finished attempt, good for the next one as long as `digest` is the task's last snapshot."""

    attempt: Attempt
    digest: str
    stamps: Mapping[str, tuple[Stamp, str]]


class Folders:
    """The folders of one worker. A lock file held open tells other workers that it lives."""

    def __init__(self, base: Path, worker: uuid.UUID, keep: int = 32, certificates: str = "") -> None:
        self.base, self.home, self._most = base, base / str(worker), keep
        self._certificates = certificates
        self._kept: dict[int, ReusableFolder] = {}
        unlocked = base / f".{worker}"
        unlocked.mkdir(parents=True, mode=0o700)
        base.chmod(0o700)
        self._lock = (unlocked / "lock").open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        # Only now it has the name under which the others look for those of the dead.
        unlocked.rename(self.home)
        self.removals = Removals(self.home / REMOVED)

    def close(self) -> None:
        """Remove everything: snapshots hold what is worth keeping."""
        self.removals.close()
        remove_folder(self.home)
        self._lock.close()

    def attempt_folder(self, task: int, job: int, attempt: int, lease: uuid.UUID | None = None) -> Attempt:
        """Return where an attempt works. Nothing is created yet. `lease`: of an attempt that was on hold and
        goes on, each run has a folder of its own; the previous one may still be at its end."""
        run = f".{lease.hex[:8]}" if lease else ""
        return Attempt(self.home / str(task) / f"{job}.{attempt}{run}")

    def make_attempt_folders(self, attempt: Attempt) -> None:
        """Empty folders for one attempt."""
        remove_folder(attempt.root)
        for folder in (attempt.workspace, attempt.temporary, attempt.result.parent):
            folder.mkdir(parents=True, mode=0o700)
        if self._certificates:
            attempt.certificates.write_text(self._certificates)

    def remove_attempt(self, attempt: Attempt) -> None:
        self.removals.move_aside_and_remove_soon(attempt.root)

    def reuse_folder_or_none(self, task: int, digest: str, into: Attempt) -> ReusableFolder | None:
        """Move the kept folder of a task into a new attempt, if it is what the snapshot says."""
        folder = self._kept.pop(task, None)
        if folder is None:
            return None
        if folder.digest == digest:
            into.workspace.rmdir()
            folder.attempt.workspace.rename(into.workspace)
        self.removals.move_aside_and_remove_soon(folder.attempt.root)
        return folder if folder.digest == digest else None

    def keep_folder_of_task(self, task: int, folder: ReusableFolder) -> None:
        """Store the folder for the next station of this task; the oldest make room."""
        self.remove_kept_folder(task)
        self._kept[task] = folder
        while len(self._kept) > self._most:
            self.remove_kept_folder(next(iter(self._kept)))

    def remove_kept_folder(self, task: int) -> None:
        folder = self._kept.pop(task, None)
        if folder is not None:
            self.removals.move_aside_and_remove_soon(folder.attempt.root)

    # HOME of agents: it outlives the worker, since a session goes on with it

    def try_to_move_home_into_attempt(self, task: int, agent: str, into: Attempt) -> bool:
        """Move what the agent kept in its HOME into a new attempt. :return: whether there was something"""
        try:
            self._home_of_agent(task, agent).rename(into.home)
        except OSError:
            into.home.mkdir(mode=0o700, exist_ok=True)
            return False
        return True

    def keep_home(self, task: int, agent: str, attempt: Attempt) -> None:
        """Store the home for the agent's next visit; what nobody came back for makes room."""
        place = self._home_of_agent(task, agent)
        place.parent.mkdir(mode=0o700, exist_ok=True)
        remove_folder(place)
        attempt.home.rename(place)
        # A rename keeps the old time, and `remove_old_homes` goes by it
        os.utime(place)
        self.remove_old_homes()

    def remove_old_homes(self) -> None:
        try:
            homes = sorted((self.base / HOMES).iterdir(), key=lambda home: home.lstat().st_mtime)
        except FileNotFoundError:
            return
        oldest = time.time() - HOME_DAYS * 86_400
        for index, home in enumerate(reversed(homes)):
            if index >= MOST_HOMES or home.lstat().st_mtime < oldest:
                remove_folder(home)

    def remove_homes_of_task(self, task: int) -> None:
        for home in (self.base / HOMES).glob(f"{task}.*"):
            remove_folder(home)

    def _home_of_agent(self, task: int, agent: str) -> Path:
        name = hashlib.sha256(agent.encode(errors="replace")).hexdigest()[:16]
        return self.base / HOMES / f"{task}.{name}"

    def remove_folders_of_dead_workers(self) -> list[str]:
        """Folders of workers that ended without cleaning up: their lock is free."""
        removed = []
        for folder in self.base.iterdir():
            if folder != self.home and (folder / "lock").is_file() and not is_in_use(folder):
                try:
                    remove_folder(folder)
                except OSError:
                    # Such as of another user: it takes room, and no work waits for it
                    continue
                removed.append(folder.name)
        return removed
