"""Contents of the changed files at the base: stored by content beside the workspace, so that the difference
can be shown without the repository."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from dulwich.object_store import BaseObjectStore
from dulwich.objects import S_ISGITLINK, Blob

from pipelines.work.git.lfs.large_files import LargeFiles
from pipelines.work.git.lfs.pointers import Pointer
from pipelines.work.git.refusals import GitRefused
from pipelines.work.git.submodules.modules import submodule_text
from pipelines.work.git.trees import LINK, PROGRAM, Leaf

# What is kept of one visit: so many files, bytes of one, bytes together
MOST_FILES = 5_000
MOST_FILE = 8 * 1024 * 1024
MOST_BYTES = 128 * 1024 * 1024


def base_entries_and_stored_sources(
    store: BaseObjectStore, base: Mapping[str, Leaf], now: Mapping[str, Leaf], folder: Path, large: LargeFiles
) -> tuple[dict[str, Any], dict[str, tuple[str, int]]]:
    """{path: {mode, digest, size}, {link} or None where the base has no such file} of what differs, and {digest:
    (name, size)} of the bytes that were written into `folder`, which is fresh. What is too much is told without its
    bytes."""
    before: dict[str, Any] = {}
    blobs: dict[str, tuple[str, int]] = {}
    room = MOST_BYTES
    changed = sorted(path for path in {*base, *now} if base.get(path) != now.get(path))[:MOST_FILES]
    pointers = large.pointers(base)
    for path in changed:
        leaf = base.get(path)
        git_object = _blob_of_leaf_or_none(store, leaf) if leaf else None
        if leaf is None or git_object is None:
            before[path] = None
            continue
        data = git_object.data
        mode = 0o755 if leaf[0] == PROGRAM else 0o644
        # People compare what a file contains, not two pointers
        if pointer := pointers.get(path):
            before[path] = {"path": path, "mode": mode, "digest": pointer.oid, "size": pointer.size}
            fits = pointer.oid not in blobs and pointer.size <= min(MOST_FILE, room)
            if fits and _try_to_copy_large_file(large, path, pointer, folder):
                blobs[pointer.oid] = (pointer.oid, pointer.size)
                room -= pointer.size
            continue
        if leaf[0] == LINK:
            before[path] = {"path": path, "link": data.decode(errors="replace")}
            continue
        digest = sha256(data).hexdigest()
        before[path] = {"path": path, "mode": mode, "digest": digest, "size": len(data)}
        # The same content once, and what is too large is told without its bytes
        if digest not in blobs and len(data) <= min(MOST_FILE, room):
            with (folder / digest).open("xb") as file:
                file.write(data)
            blobs[digest] = (digest, len(data))
            room -= len(data)
    return before, blobs


def _blob_of_leaf_or_none(store: BaseObjectStore, leaf: Leaf) -> Blob | None:
    if S_ISGITLINK(leaf[0]):
        return Blob.from_string(submodule_text(leaf[1]))
    git_object = store[leaf[1]]
    return git_object if isinstance(git_object, Blob) else None


def _try_to_copy_large_file(large: LargeFiles, path: str, pointer: Pointer, folder: Path) -> bool:
    """Return whether the content of a large file could be shown: without it the change is told by its size."""
    try:
        large.bring_into_mirror({path: pointer})
    except GitRefused:
        return False
    shutil.copyfile(large.objects.path_of(pointer), folder / pointer.oid)
    return True
