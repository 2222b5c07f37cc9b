"""Changes between two trees, as facts (law §13): counted from our own objects, never reported by the work."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dulwich.object_store import BaseObjectStore
from dulwich.objects import S_ISGITLINK, Blob, ObjectID

from pipelines.formats.evidence.trees.file_kinds import sensitivity_or_empty
from pipelines.formats.evidence.trees.line_diff import StepBudget, diff_blocks
from pipelines.work.git.lfs.pointers import parsed_pointer_or_none
from pipelines.work.git.submodules.modules import submodule_text
from pipelines.work.git.trees import Leaf

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

MOST_PATHS = 2000
# Of comparing by line, all files together.
MOST_STEPS = 4_000_000


def git_facts(
    store: BaseObjectStore,
    before: Mapping[str, Leaf],
    after: Mapping[str, Leaf],
    sensitive: Sequence[str] = (),
) -> dict[str, Any]:
    """files_changed, insertions, deletions, paths and sensitive of the way from one set of files to the other.

    Lines are compared in bounded time, all files together. What is left after it counts whole: all lines between what
    the two texts of a file both begin and end with, as removed and as added."""
    paths = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
    inserted = deleted = 0
    # One budget for all files: many small ones would else take as long as one made to be slow
    budget, digest = StepBudget(MOST_STEPS), hashlib.sha256()
    for path in paths:
        old, new = _leaf_bytes(store, before.get(path)), _leaf_bytes(store, after.get(path))
        added, removed = added_and_removed_lines(old, new, budget)
        inserted, deleted = inserted + len(added), deleted + len(removed)
        _add_to_change_digest(digest, path, added, removed, new)
    return {
        **({"lines": digest.hexdigest()} if paths else {}),
        "files_changed": len(paths),
        "insertions": inserted,
        "deletions": deleted,
        "paths": paths[:MOST_PATHS],
        "sensitive": [path for path in paths if sensitivity_or_empty(path, sensitive)][:MOST_PATHS],
    }


def added_and_removed_lines(old: bytes, new: bytes, budget: StepBudget) -> tuple[list[bytes], list[bytes]]:
    """Lines added and removed; none of what is not text."""
    if _is_no_text(old) or _is_no_text(new):
        return [], []
    before, after = old.splitlines(), new.splitlines()
    changed = [block for block in diff_blocks(before, after, budget) if not block.same]
    added = [line for block in changed for line in after[block.new : block.new_end]]
    return added, [line for block in changed for line in before[block.old : block.old_end]]


def _is_no_text(data: bytes) -> bool:
    # As git tells: a NUL in the first 8,000 bytes makes it no text. A pointer of LFS stands for a large file
    return b"\x00" in data[:8000] or parsed_pointer_or_none(data) is not None


def _add_to_change_digest(
    digest: Hash, path: str, added: Sequence[bytes], removed: Sequence[bytes], new: bytes
) -> None:
    """Into the digest of what changed: the words of the changed lines, wherever they stand and however they are spaced,
    and of what is not text all of it."""
    digest_lines = [b"+" + words for line in added if (words := b" ".join(line.split()))]
    digest_lines += [b"-" + words for line in removed if (words := b" ".join(line.split()))]
    if not added and not removed:
        digest_lines = [hashlib.sha256(new).digest()]
    if digest_lines:
        # Sorted: the same lines in another order are the same change (law §15).
        digest.update(path.encode() + b"\0" + b"\n".join(sorted(digest_lines)) + b"\0")


def _leaf_bytes(store: BaseObjectStore, leaf: Leaf | None) -> bytes:
    if leaf is None:
        return b""
    if S_ISGITLINK(leaf[0]):
        return submodule_text(leaf[1])
    git_object = store[ObjectID(leaf[1])]
    return git_object.data if isinstance(git_object, Blob) else b""
