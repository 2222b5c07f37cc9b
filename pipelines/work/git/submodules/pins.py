"""Pinned commits after a station: read as plain files, and published nowhere else than they were."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from hashlib import sha1
from pathlib import Path
from stat import S_ISLNK

from dulwich.objects import ObjectID

from pipelines.work.git import checkout, trees
from pipelines.work.git.lfs.pointers import lfs_pointers_by_path
from pipelines.work.git.refusals import GitRefused, list_of_first_paths
from pipelines.work.git.remote import Remote
from pipelines.work.git.submodules.checkout import SubmoduleFiles, fetch_pin, open_submodule
from pipelines.work.git.submodules.modules import (
    MODULES,
    Module,
    pinned_commit_by_path,
    submodule_repository_address,
    submodules_of_workspace,
)
from pipelines.work.git.trees import Leaf
from pipelines.work.results.files import FileRefused, open_plain_file
from pipelines.work.results.repositories import head_commit_or_empty
from pipelines.work.spec.repository import RepositoryAccess

CHANGED = "submodule_changed"
LONGEST = 4096


def current_commit_by_path(workspace: Path, files: Mapping[str, Leaf]) -> dict[str, ObjectID]:
    """Return {path: commit} of the submodules as they stand now. `files`: of the tree before the station.

    :raises GitRefused"""
    before, modules = pinned_commit_by_path(files), submodules_of_workspace(workspace)
    pins: dict[str, ObjectID] = {}
    for path in sorted({*before, *modules}):
        # A tree of git holds no `.git`, and what lies in another submodule is that one's own
        if (
            trees.is_git_like_path(path)
            or not _is_folder(workspace, path)
            or any(path.startswith(f"{outer}/") for outer in pins)
        ):
            continue
        if path not in modules:
            # Without files it was taken out, and its `.git` is no file of anybody
            if not any(name != ".git" for name in os.listdir(workspace / path)):
                continue
            raise GitRefused(
                f"{path} is a submodule, and {MODULES} does not name it any more. Remove the folder, too, or put its "
                "entry back.",
                CHANGED,
                (path,),
            )
        commit = head_commit_or_empty(workspace, _git_folder(workspace, path)).encode()
        # A new one without a commit is no submodule yet
        if commit or path in before:
            pins[path] = ObjectID(commit or before[path])
    return pins


def _is_folder(workspace: Path, path: str) -> bool:
    place = workspace
    parts = path.split("/")
    if not all(part and part not in (".", "..") and "\x00" not in part for part in parts):
        return False
    # Each part by itself: a link in any of them would lead out of the workspace
    for part in parts:
        place /= part
        if place.is_symlink() or not place.is_dir():
            return False
    return True


def _git_folder(workspace: Path, path: str) -> str:
    """Return where the `.git` of a submodule is: a folder, or what a file names, as `git submodule add` leaves it."""
    own = f"{path}/.git"
    try:
        with open_plain_file(workspace, own) as file:
            text = file.read(LONGEST).decode("utf-8", "replace").strip()
    except FileRefused:
        return own
    target = posixpath.normpath(posixpath.join(path, text.removeprefix("gitdir:").strip()))
    # Not out of the workspace: what is outside is nobody's submodule
    return own if target.startswith(("/", "..")) else target


def check_submodules(
    access: RepositoryAccess,
    remote: Remote,
    workspace: Path,
    before: Mapping[str, Leaf],
    checked_out: SubmoduleFiles,
    pins: Mapping[str, ObjectID],
    trusted: set[str],
) -> None:
    """Check that what stands in each submodule is its pinned commit, and that its remote has that. `trusted`: addresses
    that the base branch names. :raises GitRefused: it would be lost, or nobody could fetch it"""
    old = pinned_commit_by_path(before)
    for path, pin in pins.items():
        expected = checked_out.files.get(path, {})
        # A commit that only this workspace has could be fetched by nobody
        if old.get(path) != pin:
            expected = published_files(access, remote, submodules_of_workspace(workspace), path, pin, trusted)
        changed = [name for name, leaf in expected.items() if not _is_same(workspace, f"{path}/{name}", leaf)]
        if changed:
            raise GitRefused(
                f"{path} is a submodule, and what a station changes in it is not kept: {list_of_first_paths(changed)}. "
                "Leave it as it is; or change it in its own repository, push it there, and set the submodule to that "
                "commit.",
                CHANGED,
                [f"{path}/{name}" for name in changed],
            )


def published_files(
    access: RepositoryAccess,
    remote: Remote,
    modules: Mapping[str, Module],
    path: str,
    pin: ObjectID,
    trusted: set[str],
) -> dict[str, Leaf]:
    """Return the files of a pinned commit, those of its own submodules and its large files aside. :raises
    GitRefused: its remote does not have it"""
    address = submodule_repository_address(path, modules, remote.address, access.folders)
    try:
        with open_submodule(access, remote, address, modules[path].url in trusted, path) as (
            mirror,
            its_remote,
        ):
            fetch_pin(mirror, its_remote, pin, path, lambda text: None)
            store = mirror.repository.object_store
            files = trees.leaf_by_path_of_tree(store, checkout.commit_tree(store, pin.decode()))
            aside = {*lfs_pointers_by_path(store, files), *pinned_commit_by_path(files)}
    except GitRefused as error:
        raise GitRefused(str(error), CHANGED, (path,)) from error
    return {name: leaf for name, leaf in files.items() if name not in aside}


def _is_same(workspace: Path, path: str, leaf: Leaf) -> bool:
    mode, sha = leaf
    place = workspace / path
    try:
        if S_ISLNK(mode) != place.is_symlink():
            return False
        if S_ISLNK(mode):
            data = os.fsencode(os.readlink(place))
        else:
            with open_plain_file(workspace, path) as file:
                data = file.read()
    except (FileRefused, OSError):
        return False
    # As git names the bytes: no security rests on it
    return sha1(b"blob %d\x00" % len(data) + data, usedforsecurity=False).hexdigest().encode() == sha
