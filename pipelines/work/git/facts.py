"""What changed between two trees, as facts (law §13): counted from our own objects, never said by the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dulwich.object_store import BaseObjectStore
from dulwich.objects import Blob, ObjectID

from pipelines.formats.evidence.trees.kinds import sensitivity
from pipelines.formats.evidence.trees.lines import StepBudget, blocks
from pipelines.work.git.trees import Leaf

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
    budget = StepBudget(MOST_STEPS)
    for path in paths:
        more, less = lines_changed(_data(store, before.get(path)), _data(store, after.get(path)), budget)
        inserted, deleted = inserted + more, deleted + less
    return {
        "files_changed": len(paths),
        "insertions": inserted,
        "deletions": deleted,
        "paths": paths[:MOST_PATHS],
        "sensitive": [path for path in paths if sensitivity(path, sensitive)][:MOST_PATHS],
    }


def lines_changed(old: bytes, new: bytes, budget: StepBudget) -> tuple[int, int]:
    """Lines added and removed; none of what is not text."""
    if b"\x00" in old[:8000] or b"\x00" in new[:8000]:
        return 0, 0
    changed = [each for each in blocks(old.splitlines(), new.splitlines(), budget) if not each.same]
    return sum(each.new_end - each.new for each in changed), sum(each.old_end - each.old for each in changed)


def _data(store: BaseObjectStore, leaf: Leaf | None) -> bytes:
    if leaf is None:
        return b""
    found = store[ObjectID(leaf[1])]
    return found.data if isinstance(found, Blob) else b""
