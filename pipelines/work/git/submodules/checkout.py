"""Checking submodules out in a workspace: each at its pinned commit, with a `.git` of its own."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dulwich.object_store import BaseObjectStore
from dulwich.objects import ObjectID

from pipelines.work.git import attempt_repository, checkout, trees
from pipelines.work.git.addresses import RepositoryAddress
from pipelines.work.git.lfs.large_files import LargeFiles
from pipelines.work.git.mirror import Mirror, Mirrors
from pipelines.work.git.refusals import GitRefused
from pipelines.work.git.remote import HEADS, TAGS, ProgressCallback, Remote
from pipelines.work.git.submodules.modules import (
    DEEPEST,
    MOST_MODULES,
    Module,
    SubmoduleRefused,
    is_same_server,
    pinned_commit_by_path,
    submodule_repository_address,
    submodules_of_tree,
)
from pipelines.work.git.trees import Leaf
from pipelines.work.results.files import remove_path
from pipelines.work.spec.repository import RepositoryAccess
from pipelines.work.workspaces import MOST_BYTES, MOST_FILES

MOST_REFERENCES = 500
"""Branches and tags that are fetched where a server gives no commit by its id."""


@dataclass(frozen=True)
class SubmoduleFiles:
    """`files`: {path of a submodule: {path in it: leaf}} as they stand there, large files aside. `git_folders`: their
    own `.git`, which are no files of anybody."""

    files: dict[str, dict[str, Leaf]] = field(default_factory=dict)
    git_folders: tuple[str, ...] = ()


@dataclass(frozen=True)
class PendingSubmodule:
    """`top`: the submodule of the repository itself that it is, or lies in. `trusted`: the base branch names its
    address; `fixed`: and those of the submodules in it, for the base branch pins the same commit."""

    top: str
    path: str
    pin: ObjectID
    address: RepositoryAddress
    trusted: bool
    fixed: bool
    depth: int


def check_out_submodules(
    access: RepositoryAccess,
    remote: Remote,
    store: BaseObjectStore,
    files: Mapping[str, Leaf],
    base_files: Mapping[str, Leaf],
    workspace: Path,
    report: ProgressCallback,
) -> SubmoduleFiles:
    """`files`: of the tree that stands in the workspace; `base_files`: of the base branch, for whose submodules alone
    the credential counts: a task could name any repository of the host in its own. In a thread. :raises GitRefused"""
    pins, modules = pinned_commit_by_path(files), submodules_of_tree(store, files)
    base_pins = pinned_commit_by_path(base_files)
    base_urls = {module.url for module in submodules_of_tree(store, base_files).values()}
    waiting = deque[PendingSubmodule]()
    for path, pin in pins.items():
        address = submodule_repository_address(path, modules, remote.address, access.folders)
        trusted = modules[path].url in base_urls
        waiting.append(
            PendingSubmodule(path, path, pin, address, trusted, trusted and base_pins.get(path) == pin, 1)
        )
    run = SubmoduleCheckout(access, remote, workspace, report)
    while waiting:
        waiting += run.check_out_and_return_inner_submodules(waiting.popleft())
    return SubmoduleFiles(run.files, tuple(run.git_folders))


class SubmoduleCheckout:
    def __init__(
        self, access: RepositoryAccess, remote: Remote, workspace: Path, report: ProgressCallback
    ) -> None:
        self._access, self._remote, self._workspace, self._report = access, remote, workspace, report
        self._room = MOST_BYTES
        self._count = 0
        self.files: dict[str, dict[str, Leaf]] = {}
        self.git_folders: list[str] = []

    def check_out_and_return_inner_submodules(self, item: PendingSubmodule) -> list[PendingSubmodule]:
        """Check one out, and return those that it has itself."""
        if len(self.git_folders) >= MOST_MODULES:
            raise GitRefused(
                f"The repository has more than {MOST_MODULES} submodules, with those of its submodules."
            )
        # A repository may name itself as its own submodule
        if item.depth > DEEPEST:
            raise SubmoduleRefused(item.path, f"Submodules are nested more than {DEEPEST} deep.")
        place = self._new_folder(item.path)
        with open_submodule(self._access, self._remote, item.address, item.trusted, item.path) as (
            mirror,
            remote,
        ):
            fetch_pin(mirror, remote, item.pin, item.path, self._report)
            store = mirror.repository.object_store
            tree = checkout.commit_tree(store, item.pin.decode())
            files = trees.leaf_by_path_of_tree(store, tree)
            self._count += len(files)
            self._room -= checkout.write_tree_into_folder(store, tree, place)
            # Together: a hundred that are each within bounds would still fill the disk
            if self._room < 0 or self._count > MOST_FILES:
                raise SubmoduleRefused(
                    item.path,
                    f"The submodules have more than {MOST_BYTES // 1024**2} MB or {MOST_FILES} files together.",
                )
            large = LargeFiles(mirror, remote, item.pin.decode(), self._report)
            pointers = large.replace_pointers_by_contents(place, files)
            attempt_repository.make_repository(place, mirror, "", item.pin.decode(), files)
            inner = pinned_commit_by_path(files)
            modules = submodules_of_tree(store, files) if inner else {}
        self.git_folders.append(f"{item.path}/.git")
        own = self.files.setdefault(item.top, {})
        below = f"{item.path}/".removeprefix(f"{item.top}/")
        own |= {below + path: leaf for path, leaf in files.items() if path not in {*pointers, *inner}}
        return [self._waiting_inside(item, path, pin, modules) for path, pin in inner.items()]

    def _waiting_inside(
        self, item: PendingSubmodule, path: str, pin: ObjectID, modules: Mapping[str, Module]
    ) -> PendingSubmodule:
        try:
            address = submodule_repository_address(path, modules, item.address, self._access.folders)
        except SubmoduleRefused as error:
            raise GitRefused(str(error).replace(path, f"{item.path}/{path}", 1)) from error
        # In a commit that the base branch does not pin, a task could have chosen every address
        return PendingSubmodule(
            item.top, f"{item.path}/{path}", pin, address, item.fixed, item.fixed, item.depth + 1
        )

    def _new_folder(self, path: str) -> Path:
        """An empty folder in place of whatever an attempt before left there."""
        remove_path(self._workspace, path)
        place = self._workspace
        for part in path.split("/"):
            place /= part
            if not os.path.lexists(place):
                place.mkdir(mode=0o755)
            # Nothing is written through a link
            if not stat.S_ISDIR(place.lstat().st_mode):
                raise SubmoduleRefused(path, f"{place.name} is no folder.")
        return place


@contextmanager
def open_submodule(
    access: RepositoryAccess, outer_remote: Remote, address: RepositoryAddress, trusted: bool, path: str
) -> Iterator[tuple[Mirror, Remote]]:
    """`outer_remote`: of the repository of the task, whose credential goes to its own server alone.

    :raises SubmoduleRefused: whatever is refused meanwhile"""
    mirrors = Mirrors(access.mirrors)
    # A task could name any repository that this credential opens
    credential = access.credential if trusted and is_same_server(address, outer_remote.address) else ""
    remote = Remote(address, access.guard, credential, mirrors.known_hosts, folders=access.folders)
    try:
        # Never the mirror of the repository itself, which is locked meanwhile: two tasks could wait for each other
        with mirrors.open_mirror(
            f"submodule {address.scheme}://{address.host}:{address.port}{address.path}"
        ) as mirror:
            yield mirror, remote
    except SubmoduleRefused:
        raise
    except GitRefused as error:
        hint = ""
        if access.credential and not credential and "refuses access" in str(error):
            hint = (
                " The credential of the repository goes to its own server alone, for submodules that the base branch "
                "names."
            )
        raise SubmoduleRefused(path, f"{error}{hint}", error.failure_type) from error


def fetch_pin(mirror: Mirror, remote: Remote, pin: ObjectID, path: str, report: ProgressCallback) -> None:
    """:raises GitRefused: it may not be read, or has no such commit"""
    # Asked each time: what lies here may have been fetched for somebody else
    references = remote.read_references().refs
    commit = pin.decode()
    if mirror.has_commit(commit):
        return
    report(f"Submodule {path} is fetched at {commit[:7]}")
    try:
        mirror.fetch_commits(remote, [commit], report)
    except GitRefused:
        # Some servers give only what a branch or a tag leads to by name
        names = [name for name in references if name.startswith((HEADS, TAGS))][:MOST_REFERENCES]
        mirror.fetch_commits(remote, list(dict.fromkeys(references[name] for name in names)), report)
    if not mirror.has_commit(commit):
        raise GitRefused(
            f"Its remote does not have the commit {commit[:12]}. Push it there, or set the submodule to a commit that "
            "is there."
        )
