"""Large files of one repository, on the way between its server, a mirror of it here, and a workspace."""

from __future__ import annotations

import io
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from stat import S_ISREG

from dulwich.config import ConfigFile
from dulwich.object_store import BaseObjectStore
from dulwich.objects import Blob, ObjectID

from pipelines.work.git import checkout
from pipelines.work.git.lfs.local_objects import LocalObjects, copy_bounded
from pipelines.work.git.lfs.pointers import Pointer, TreeFile, lfs_pointers_by_path, parsed_pointer_or_none
from pipelines.work.git.lfs.servers import open_lfs_server
from pipelines.work.git.mirror import Mirror
from pipelines.work.git.refusals import PUSH_REFUSED, GitRefused
from pipelines.work.git.remote import ProgressCallback, Remote
from pipelines.work.results.files import FileRefused, open_plain_file, write_anew
from pipelines.work.workspaces import MOST_BYTES

CONFIG = ".lfsconfig"
MOST_CONFIG = 16 * 1024
MOST_COMMITS = 5_000
"""Of a task, whose large files are published with it."""
Fetch = Callable[[str, Path], None]


class LargeFiles:
    """`base`: the commit of the base branch, whose `.lfsconfig` counts: a task could name another server in its own.
    `stored` {digest: where `fetch` finds the bytes}: what the task made is not on the server yet."""

    def __init__(
        self,
        mirror: Mirror,
        remote: Remote,
        base: str,
        report: ProgressCallback,
        stored: Mapping[str, str] | None = None,
        fetch: Fetch | None = None,
    ) -> None:
        self.objects = LocalObjects(Path(mirror.repository.controldir()))
        self._mirror, self._remote, self._base = mirror, remote, base
        self._report, self._stored, self._fetch = report, stored or {}, fetch

    @property
    def _store(self) -> BaseObjectStore:
        return self._mirror.repository.object_store

    def pointers(self, files: Mapping[str, TreeFile]) -> dict[str, Pointer]:
        return lfs_pointers_by_path(self._store, files)

    def bring_into_mirror(self, pointers: Mapping[str, Pointer]) -> None:
        """Bring the content of these files into the mirror. :raises GitRefused: too much, or it is nowhere"""
        missing: dict[str, tuple[str, Pointer]] = {}
        for path, pointer in pointers.items():
            # Before anything is fetched: a pointer may claim any size
            if pointer.size > MOST_BYTES:
                raise GitRefused(f"The large file {path} has more than {MOST_BYTES // 1024**2} MB.")
            if not self.objects.has(pointer) and not self._try_to_bring_stored(path, pointer):
                missing.setdefault(pointer.oid, (path, pointer))
        total = sum({pointer.oid: pointer.size for pointer in pointers.values()}.values())
        if total > MOST_BYTES:
            raise GitRefused(
                f"The large files of the repository have more than {MOST_BYTES // 1024**2} MB together."
            )
        if not missing:
            return
        size = sum(pointer.size for _path, pointer in missing.values())
        self._report(f"{len(missing)} large files of {size / 1024**2:.1f} MB are fetched from Git LFS")
        with open_lfs_server(self._remote, self._configured_address(b"url")) as server:
            server.download(list(missing.values()), self.objects.add)

    def _try_to_bring_stored(self, path: str, pointer: Pointer) -> bool:
        """Return whether the task has it, and bring it."""
        place = self._stored.get(pointer.oid)
        if place is None or self._fetch is None:
            return False
        # Not straight into the mirror, where only what has its digest may lie
        with tempfile.TemporaryDirectory(prefix="large-") as folder:
            fetched = Path(folder) / "content"
            self._fetch(place, fetched)
            self.add_file(fetched, pointer, path)
        return True

    def add_file(self, source: Path, pointer: Pointer, path: str) -> None:
        """Add content that lies in a file of ours."""
        with source.open("rb") as content:
            self.objects.add(pointer, partial(copy_bounded, content, most=pointer.size), path)

    def replace_pointers_by_contents(
        self, workspace: Path, files: Mapping[str, TreeFile]
    ) -> dict[str, Pointer]:
        """Put the content of each large file in the place of its pointer, where that stands there. :return: all
        pointers of the tree"""
        pointers = self.pointers(files)
        # A workspace that is used again has the contents, which a station may have changed
        waiting = {path: pointer for path, pointer in pointers.items() if has_pointer_text(workspace, path)}
        self.bring_into_mirror(waiting)
        for path, pointer in waiting.items():
            self.replace_file(workspace, path, pointer, files[path][0])
        return pointers

    def keep_large_files_of_station(self, workspace: Path, files: Mapping[str, TreeFile]) -> None:
        """Keep the content of the large files that a station left, until they are published."""
        for path, pointer in self.pointers(files).items():
            # The mirror outlives the workspace, and a delivery needs the bytes
            if not self.objects.has(pointer):
                with open_plain_file(workspace, path) as content:
                    self.objects.add(pointer, partial(copy_bounded, content, most=pointer.size), path)

    def replace_file(self, workspace: Path, path: str, pointer: Pointer, mode: int) -> None:
        # The new file stands where the pointer stood: a link that a station put there is replaced, not followed
        write_anew(workspace, path, b"")
        place = workspace / path
        shutil.copyfile(self.objects.path_of(pointer), place, follow_symlinks=False)
        place.chmod(0o755 if mode & 0o100 else 0o644)

    def publish(
        self, head: str, base: str, squashed: bool, find: Callable[[Sequence[str]], Mapping[str, str]]
    ) -> None:
        """Send the large files that the commits add, before anybody sees their pointers. `find`: where the task stored
        those of these digests that it has. :raises GitRefused"""
        pointers = self._new_pointers(head, base, squashed)
        if not pointers:
            return
        # Another worker may have made them, and its mirror is not this one
        missing = [pointer.oid for pointer in pointers if not self.objects.has(pointer)]
        self._stored = {**self._stored, **find(missing)} if missing else self._stored

        def path_of(pointer: Pointer) -> Path | None:
            there = self.objects.has(pointer) or self._try_to_bring_stored(pointers[pointer], pointer)
            return self.objects.path_of(pointer) if there else None

        # As git-lfs does: `pushurl` counts for sending alone
        address = self._configured_address(b"pushurl") or self._configured_address(b"url")
        with open_lfs_server(self._remote, address) as server:
            entries = [(path, pointer) for pointer, path in pointers.items()]
            try:
                count = server.upload(entries, path_of)
            except GitRefused as error:
                raise GitRefused(str(error), PUSH_REFUSED) from error
        if count:
            self._report(f"{count} large files are stored with Git LFS")

    def _new_pointers(self, head: str, base: str, squashed: bool) -> dict[Pointer, str]:
        old = set(self.pointers(self._files_of(base)).values())
        new: dict[Pointer, str] = {}
        # A squash publishes the last files alone: nobody sees what came in between
        commits = [head]
        if not squashed:
            walker = self._mirror.repository.get_walker(
                include=[ObjectID(head.encode())], exclude=[ObjectID(base.encode())], max_entries=MOST_COMMITS
            )
            commits = [entry.commit.id.decode() for entry in walker]
        for commit in commits:
            for path, pointer in self.pointers(self._files_of(commit)).items():
                if pointer not in old:
                    new.setdefault(pointer, path)
        return new

    def _files_of(self, commit: str) -> dict[str, TreeFile]:
        tree = checkout.commit_tree(self._store, commit)
        return {
            path: (mode, sha) for path, mode, sha in checkout.tree_nodes(self._store, tree) if S_ISREG(mode)
        }

    def _configured_address(self, key: bytes) -> str:
        """Return the address that `url` or `pushurl` is in `.lfsconfig` of the base branch, "" without one.

        :raises GitRefused: it may not be asked"""
        leaf = self._files_of(self._base).get(CONFIG) if self._base else None
        blob = self._store[leaf[1]] if leaf else None
        if not isinstance(blob, Blob):
            return ""
        address = lfs_address_of_config_or_empty(blob.data, key)
        if address and not re.fullmatch(r"https://[A-Za-z0-9.\-\[\]:]+/[^\s?#@]*", address):
            # A folder keeps its objects beside it, whatever server is named for others
            if self._remote.address.scheme == "folder":
                return ""
            # Not the address itself: it may hold a password
            raise GitRefused(
                f"The {key.decode()} in {CONFIG} is no https address without user and password. Correct it, or take it "
                "out."
            )
        return address


def lfs_address_of_config_or_empty(data: bytes, key: bytes) -> str:
    # An include would read another file of this machine
    if len(data) > MOST_CONFIG or b"[include" in data.lower():
        raise GitRefused(f"{CONFIG} is too long, or includes other files. Take that out.")
    try:
        value = ConfigFile.from_file(io.BytesIO(data)).get((b"lfs",), key)
    except KeyError:
        return ""
    except ValueError as error:
        raise GitRefused(f"{CONFIG} cannot be read: {error}.") from error
    return value.decode("utf-8", "replace")


def has_pointer_text(workspace: Path, path: str) -> bool:
    try:
        with open_plain_file(workspace, path) as file:
            # A byte beyond the longest pointer: what has that is none
            return parsed_pointer_or_none(file.read(1025)) is not None
    except FileRefused:
        return False
