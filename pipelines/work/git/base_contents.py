"""Contents of the changed files at the base: stored by content beside the workspace, so that the difference
can be shown without the repository."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from dulwich.object_store import BaseObjectStore
from dulwich.objects import Blob

from pipelines.work.git.trees import LINK, PROGRAM, Leaf

# What is kept of one visit: so many files, bytes of one, bytes together
MOST_FILES = 5_000
MOST_FILE = 8 * 1024 * 1024
MOST_BYTES = 128 * 1024 * 1024


def store_base_contents(
    store: BaseObjectStore, base: Mapping[str, Leaf], now: Mapping[str, Leaf], folder: Path
) -> tuple[dict[str, Any], dict[str, tuple[str, int]]]:
    """{path: {mode, digest, size}, {link} or None where the base has no such file} of what differs, and {digest:
    (name, size)} of the bytes that were written into `folder`, which is fresh. What is too much is told without its
    bytes."""
    before: dict[str, Any] = {}
    blobs: dict[str, tuple[str, int]] = {}
    room = MOST_BYTES
    for path in sorted(path for path in {*base, *now} if base.get(path) != now.get(path))[:MOST_FILES]:
        leaf = base.get(path)
        git_object = store[leaf[1]] if leaf else None
        if leaf is None or not isinstance(git_object, Blob):
            before[path] = None
            continue
        data = git_object.data
        if leaf[0] == LINK:
            before[path] = {"path": path, "link": data.decode(errors="replace")}
            continue
        digest = sha256(data).hexdigest()
        mode = 0o755 if leaf[0] == PROGRAM else 0o644
        before[path] = {"path": path, "mode": mode, "digest": digest, "size": len(data)}
        # The same content once, and what is too large is told without its bytes
        if digest not in blobs and len(data) <= min(MOST_FILE, room):
            with (folder / digest).open("xb") as file:
                file.write(data)
            blobs[digest] = (digest, len(data))
            room -= len(data)
    return before, blobs
