"""Merging two sets of changes file by file: a file that only one side changed is that side's, one that both changed the
same way is theirs, and one that they changed differently is a conflict, which a person or an agent settles."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.work.git.refusals import MERGE_CONFLICT, GitRefused
from pipelines.work.git.trees import Leaf

Files = Mapping[str, Leaf]


def merged(base: Files, ours: Files, theirs: Files, into: str) -> dict[str, Leaf]:
    """:raises GitRefused: merge_conflict, with the files"""
    found, conflicts = {}, []
    for path in sorted({*base, *ours, *theirs}):
        was, our, their = base.get(path), ours.get(path), theirs.get(path)
        kept = their if our == was else our
        if our != was and their not in (was, our):
            conflicts.append(path)
        elif kept is not None:
            found[path] = kept
    conflicts += [path for path in found if any(above in found for above in _above(path))]
    if conflicts:
        some = ", ".join(conflicts[:5]) + (" …" if len(conflicts) > 5 else "")
        raise GitRefused(
            f"{into} changed the same files as this task: {some}. Settle it in the repository, or start anew.",
            MERGE_CONFLICT,
            conflicts,
        )
    return found


def _above(path: str) -> list[str]:
    return [path[:place] for place, letter in enumerate(path) if letter == "/"]
