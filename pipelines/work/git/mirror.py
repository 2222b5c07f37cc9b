"""A bare copy of a repository on this worker: fetched when needed, locked while it changes, removed when nobody used it
for long or when all of them are too large together. It also holds the objects of tasks, which no branch of it names."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from dulwich.object_store import DiskObjectStore
from dulwich.objects import ObjectID, RawObjectID, sha_to_hex
from dulwich.pack import load_pack_index, write_pack_from_container
from dulwich.refs import Ref
from dulwich.repo import Repo

from pipelines.work.git.commits import is_branch
from pipelines.work.git.refusals import GitRefused
from pipelines.work.git.remote import HEADS, FetchTooLarge, ProgressCallback, References, Remote, _object_id
from pipelines.work.git.sizes import check_pack_sizes

FOLDER = ".mirrors"
MOST_BYTES = 4 * 1024**3
"""Of what one fetch brings."""
MOST_TOGETHER = 20 * 1024**3
UNUSED_SECONDS = 14 * 86_400.0


class Mirrors:
    """Mirrors below the folder of all workers of this machine: a lock prevents two from writing to one at
    once."""

    def __init__(self, workspaces: Path, most: int = MOST_BYTES, together: int = MOST_TOGETHER) -> None:
        self.base, self.most, self.together = workspaces / FOLDER, most, together

    @property
    def known_hosts(self) -> Path:
        return self.base / "known_hosts"

    @contextmanager
    def open_mirror(self, address: str) -> Iterator[Mirror]:
        """Open a mirror for one piece of work; nobody else changes it meanwhile. In a thread."""
        # An address has slashes, and may be longer than a name of a file.
        name = hashlib.sha256(address.encode()).hexdigest()[:32]
        self.base.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (self.base / f"{name}.lock").open("a") as lock:
            # Ends with the file, and with this process however that ends.
            fcntl.flock(lock, fcntl.LOCK_EX)
            # By this time `expire` sees when the mirror was used last.
            os.utime(lock.fileno())
            with closing(self._opened_or_new_repository(self.base / f"{name}.git")) as repository:
                join_small_packs(repository.object_store)
                yield Mirror(repository, self.most)

    def _opened_or_new_repository(self, folder: Path) -> Repo:
        """Return the repository; one that a crash left half made is made anew."""
        ready = folder / "ready"
        if not ready.exists():
            shutil.rmtree(folder, ignore_errors=True)
            Repo.init_bare(str(folder), mkdir=True).close()
            # Last: without it the folder counts as half made.
            ready.touch()
        return Repo(str(folder))

    def remove_unused_mirrors(self) -> list[str]:
        """Remove what was not used for long; of the rest the longest unused, until there is room. In a thread."""
        if not self.base.is_dir():
            return []
        locks = sorted(self.base.glob("*.lock"), key=lambda lock: lock.stat().st_mtime)
        sizes = {lock: _folder_size(lock.with_suffix(".git")) for lock in locks}
        total, removed, now = sum(sizes.values()), [], time.time()
        for lock in locks:
            stale = now - lock.stat().st_mtime > UNUSED_SECONDS
            if (stale or total > self.together) and self._remove_unless_in_use(lock):
                total -= sizes[lock]
                removed.append(lock.stem)
        return removed

    def _remove_unless_in_use(self, lock: Path) -> bool:
        """False where somebody works with it."""
        with lock.open("a") as lock_file:
            try:
                fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            # The file of the lock stays: somebody may have opened it already, and wait.
            shutil.rmtree(lock.with_suffix(".git"), ignore_errors=True)
        return True


class FetchedReference(NamedTuple):
    """Branch or tag of a remote repository with its commit, and all that the remote has."""

    name: str
    commit: str
    references: References


class Mirror:
    """Mirror that is open and locked."""

    def __init__(self, repository: Repo, most: int) -> None:
        self.repository, self._most = repository, most

    def fetch_branch_or_tag(self, remote: Remote, name: str, report: ProgressCallback) -> FetchedReference:
        """The branch or tag of this name, with its commit; "" is the branch that HEAD is on.

        :raises GitRefused: it cannot be reached, or has no such branch"""
        refs = remote.read_references()
        if not refs.refs:
            raise GitRefused("The repository is empty. Push a first commit to it.")
        branch = name or refs.head
        commit = refs.commit_of_branch_or_tag(branch) if is_branch(branch) else ""
        if not commit:
            raise GitRefused(_no_branch_message(branch, refs))
        self.fetch_commits(remote, [commit], report)
        if refs.branch_commit(branch):
            self.repository.refs[stored_ref(branch)] = _object_id(commit)
        return FetchedReference(branch, commit, refs)

    def fetch_commits(self, remote: Remote, commits: list[str], report: ProgressCallback) -> None:
        try:
            remote.fetch(self.repository, commits, self._most, report)
        except FetchTooLarge as error:
            most = self._most // 1024**2
            raise GitRefused(f"The repository is larger than {most} MB, which is the most here.") from error

    def has_commit(self, commit: str) -> bool:
        return _object_id(commit) in self.repository.object_store

    def add_pack(self, pack: Path) -> None:
        """Objects that a worker stored: read and checked one by one."""
        file, commit, abort = self.repository.object_store.add_pack()
        try:
            with pack.open("rb") as source:
                shutil.copyfileobj(source, file)
            check_pack_sizes(file)
        except BaseException:
            # Also where the worker is stopped: half a pack would stay in the mirror
            abort()
            raise
        commit()


def stored_ref(branch: str) -> Ref:
    """Return the reference where a mirror stores the head of a branch, so that only new commits are fetched.
    Branches come and go, and a file `a` cannot be beside `a/b`: none is stored under its own name."""
    # Not by its name: a file `a` cannot be beside `a/b`, and branches come and go
    return Ref((HEADS + hashlib.sha256(branch.encode()).hexdigest()).encode())


def _no_branch_message(branch: str, refs: References) -> str:
    some = ", ".join(refs.branches[:5]) or "none"
    if not branch:
        return f"The repository does not say which branch is its default. Name one. It has: {some}."
    return f"The repository has no branch {branch}. It has: {some}."


def _folder_size(folder: Path) -> int:
    return sum(
        os.lstat(os.path.join(at, name)).st_size for at, _folders, names in os.walk(folder) for name in names
    )


# Few files of objects instead of many: each visit and each fetch adds one to a mirror, and all of them are
# open at once while objects are looked for.


MOST_PACKS = 50
TOGETHER = 256 * 1024**2
"""Bytes that are joined at once, as they are packed: one object after the other goes from file to file. What is larger
stays as it is; a mirror has room for a few dozen such files."""


def join_small_packs(store: DiskObjectStore) -> None:
    """Put the small ones into one, where there are too many. Nobody else changes the store meanwhile."""
    # The smallest first
    packs = sorted((pack.stat().st_size, pack) for pack in Path(store.pack_dir).glob("*.pack"))
    if len(packs) <= MOST_PACKS:
        return
    objects: dict[ObjectID, None] = {}
    joined: list[Path] = []
    total = 0
    for size, pack in packs:
        total += size
        if total > TOGETHER:
            break
        if pack.with_suffix(".idx").exists():
            objects.update(dict.fromkeys(_pack_object_ids(store, pack)))
            joined.append(pack)
    if len(joined) < 2:
        return
    file, commit, abort = store.add_pack()
    try:
        entries = [(object_id, None) for object_id in objects]
        write_pack_from_container(file.write, store, entries, object_format=store.object_format)
    except BaseException:
        abort()
        raise
    made = commit()
    name = f"pack-{made.name().decode()}" if made else ""
    # It opened all of them, and opens again what there is.
    store.close()
    for pack in joined:
        # The name comes of the objects, so the new file may be one that was there.
        if pack.stem != name:
            # First: without its index a pack is left alone.
            pack.with_suffix(".idx").unlink()
            pack.unlink()


def _pack_object_ids(store: DiskObjectStore, pack: Path) -> list[ObjectID]:
    with closing(load_pack_index(str(pack.with_suffix(".idx")), store.object_format)) as index:
        return [sha_to_hex(RawObjectID(sha)) for sha, _offset, _crc in index.iterentries()]
