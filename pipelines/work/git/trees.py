"""The tree of git that the files of a work tree make: read by our own rules, from what `picture_of_workspace` found.
What `.gitignore` names is left out unless it was committed before; nothing else of the repository is heeded."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from hashlib import sha1
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from dulwich.object_store import BaseObjectStore
from dulwich.objects import Blob, ObjectID, ShaFile, Tree

from pipelines.work.file_measure import PIECE, measure_file
from pipelines.work.git.checkout import GIT_LIKE, tree_nodes
from pipelines.work.git.gitignore import IgnoreFiles
from pipelines.work.git.lfs.pointers import (
    MOST_POINTER,
    Pointer,
    lfs_attributes_of_workspace,
    parsed_pointer_or_none,
)
from pipelines.work.git.refusals import GitRefused
from pipelines.work.results.files import open_plain_file
from pipelines.work.workspaces import Entry

FILE, PROGRAM, LINK, FOLDER, SUBMODULE = 0o100644, 0o100755, 0o120000, 0o040000, 0o160000
MOST_NEW = 256 * 1024**2
"""Bytes of the files that one station may add or change."""
Leaf = tuple[int, ObjectID]


def leaf_by_path_of_tree(store: BaseObjectStore, tree: ObjectID) -> dict[str, Leaf]:
    """{path: (mode, id)} of the files and links of a tree."""
    return {path: (mode, sha) for path, mode, sha in tree_nodes(store, tree) if not S_ISDIR(mode)}


def read_workspace_tree_and_new_blobs(
    workspace: Path,
    manifest: tuple[Entry, ...],
    before: Mapping[str, Leaf],
    store: BaseObjectStore,
    pins: Mapping[str, ObjectID],
) -> tuple[dict[str, Leaf], list[ShaFile]]:
    """Return the present content of the tree, and the blobs that `store` does not have yet. `before`: the
    last commit's content; `pins`: {path: commit} of submodules, of which nothing else counts.

    :raises GitRefused: too much is new
    """
    ignored, room, attributes = IgnoreFiles(workspace), MOST_NEW, lfs_attributes_of_workspace(workspace)
    tree_files: dict[str, Leaf] = {path: (SUBMODULE, pin) for path, pin in pins.items()}
    new: list[ShaFile] = []
    for entry in manifest:
        path = str(entry["path"])
        if pins and is_in_submodule(path, pins):
            continue
        if entry.get("folder") or is_git_like_path(path) or (path not in before and ignored.is_ignored(path)):
            continue
        # Git LFS makes no pointer of an empty file
        if entry.get("size") and attributes.is_kept_by_lfs(path):
            leaf, blob = _large_leaf_and_new_blob(workspace, entry, before.get(path), store)
        else:
            leaf, blob = _workspace_leaf_and_new_blob(workspace, entry, before.get(path), store)
        if blob is not None:
            room -= blob.raw_length()
            new.append(blob)
        if room < 0:
            most = MOST_NEW // 1024**2
            raise GitRefused(
                f"The station changed files of more than {most} MB together.", "workspace_too_large"
            )
        tree_files[path] = leaf
    return tree_files, new


def is_in_submodule(path: str, pins: Container[str]) -> bool:
    """Return whether a path is that of a submodule, or of a file in it."""
    return path in pins or any(path[:place] in pins for place, letter in enumerate(path) if letter == "/")


def is_git_like_path(path: str) -> bool:
    return any(GIT_LIKE.fullmatch(part) for part in path.split("/"))


def _workspace_leaf_and_new_blob(
    workspace: Path, entry: Entry, before: Leaf | None, store: BaseObjectStore
) -> tuple[Leaf, Blob | None]:
    path = str(entry["path"])
    if "link" in entry:
        blob = Blob.from_string(os.fsencode(entry["link"]))
        return (LINK, blob.id), None if blob.id in store else blob
    # Git knows no more of the mode of a file than whether its owner may execute it.
    mode = PROGRAM if entry["mode"] & 0o100 else FILE
    with open_plain_file(workspace, path) as file:
        # The id that git gives these bytes: what is stored already is never held in memory.
        sha = sha1(b"blob %d\x00" % entry["size"], usedforsecurity=False)
        while piece := file.read(PIECE):
            sha.update(piece)
        number = ObjectID(sha.hexdigest().encode())
        if number in store:
            # A mode that git does not know otherwise (100664) stays as it was.
            same = before is not None and before[1] == number and S_ISREG(before[0])
            leaf_mode = (
                before[0] if same and before and bool(before[0] & 0o100) == (mode == PROGRAM) else mode
            )
            return (leaf_mode, number), None
        if entry["size"] > MOST_NEW:
            raise GitRefused(f"{path} is larger than {MOST_NEW // 1024**2} MB.", "workspace_too_large")
        file.seek(0)
        blob = Blob.from_string(file.read())
    return (mode, blob.id), blob


def _large_leaf_and_new_blob(
    workspace: Path, entry: Entry, before: Leaf | None, store: BaseObjectStore
) -> tuple[Leaf, Blob | None]:
    """Return the pointer of a file that Git LFS keeps; one that was committed as it is stays so while it is the
    same."""
    old = store[before[1]] if before and S_ISREG(before[0]) else None
    # One of another size cannot be the same, and is not digested twice
    unchanged = isinstance(old, Blob) and old.raw_length() == entry["size"]
    with open_plain_file(workspace, str(entry["path"])) as file:
        text = file.read(MOST_POINTER)
        # Where nobody took the file's content out of its pointer
        if unchanged or parsed_pointer_or_none(text) is not None:
            leaf, blob = _workspace_leaf_and_new_blob(workspace, entry, before, store)
            if parsed_pointer_or_none(text) is not None or (before and leaf[1] == before[1]):
                return leaf, blob
        if digest := entry.get("digest"):
            pointer = Pointer(str(digest), entry["size"])
        else:
            file.seek(0)
            measured = measure_file(file)
            pointer = Pointer(measured.digest, measured.size)
    blob = Blob.from_string(pointer.text)
    mode = PROGRAM if entry["mode"] & 0o100 else FILE
    if before is not None and before[1] == blob.id and bool(before[0] & 0o100) == (mode == PROGRAM):
        mode = before[0]
    return (mode, blob.id), None if blob.id in store else blob


def root_id_and_trees(tree_files: Mapping[str, Leaf]) -> tuple[ObjectID, list[ShaFile]]:
    """The tree of these files, with the trees of its folders."""
    root: dict[str, object] = {}
    for path, leaf in tree_files.items():
        *folders, name = path.split("/")
        here = root
        for folder in folders:
            inner = here.setdefault(folder, {})
            assert isinstance(inner, dict)
            here = inner
        here[name] = leaf
    trees: list[ShaFile] = []
    return _add_tree(root, trees), trees


def _add_tree(folder: Mapping[str, object], trees: list[ShaFile]) -> ObjectID:
    tree = Tree()
    for name, value in folder.items():
        if isinstance(value, dict):
            tree.add(name.encode(), FOLDER, _add_tree(value, trees))
        else:
            assert isinstance(value, tuple)
            tree.add(name.encode(), *value)
    trees.append(tree)
    return tree.id
