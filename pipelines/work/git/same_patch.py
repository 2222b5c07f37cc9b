"""Check whether an approved change is the same on a base that moved (law §15): the whole tree there is the
new base and exactly the approved hunks, byte for byte, each with the lines around it that were displayed.
A change that cannot be proved is not the same."""

from __future__ import annotations

from collections.abc import Sequence

from dulwich.object_store import BaseObjectStore
from dulwich.objects import Blob, ObjectID

from pipelines.formats.evidence.trees.line_diff import StepBudget, diff_blocks
from pipelines.work.git import branch_joins, checkout, trees
from pipelines.work.git.mirror import Mirror
from pipelines.work.git.tree_merge import MOST_STEPS, MOST_TEXT, Files, Lines, Merger
from pipelines.work.git.trees import Leaf

AROUND = 3
"""Lines before and after a hunk that belong to it, as people see them."""
PLAIN = (0o100644, 0o100755)


class NotTheSame(Exception):
    """Reason why people are asked again, as the end of a sentence."""


def same_patch_tree(mirror: Mirror, base: str, head: str, onto: str) -> str:
    """Return the tree that results from applying the approved change, from `base` to `head`, to `onto`. :raises
    NotTheSame: it would not be the same change"""
    if not branch_joins.is_ancestor(mirror, base, onto):
        raise NotTheSame("the branch was rewritten")
    store = mirror.repository.object_store
    before, ours, theirs = (trees.leaves(store, checkout.tree_of(store, sha)) for sha in (base, head, onto))
    files, merger = _merged(store, before, ours, theirs)
    _check_same(store, merger, (before, ours), (theirs, files))
    return trees.build_trees(files)[0].decode()


def _merged(store: BaseObjectStore, before: Files, ours: Files, theirs: Files) -> tuple[Files, Merger]:
    merger = Merger(store)
    files = merger.merge(before, ours, theirs, ("approved", "moved"))
    if merger.conflicts:
        raise NotTheSame(f"both changed {next(iter(merger.conflicts))}")
    return files, merger


def _check_same(
    store: BaseObjectStore, merger: Merger, approved: tuple[Files, Files], landing: tuple[Files, Files]
) -> None:
    changed = _changed(*approved)
    if changed != _changed(*landing):
        raise NotTheSame("not the same files are changed")
    added = [path for path in changed if path not in approved[0]]
    removed = [path for path in changed if path not in approved[1]]
    # A renamed file is not the same change (law §15).
    if added and removed:
        raise NotTheSame(f"{removed[0]} may be renamed")
    budget = StepBudget(MOST_STEPS)
    for path in changed:
        was, now, onto, then = (files.get(path) for files in (*approved, *landing))
        if (was and was[0], now and now[0]) != (onto and onto[0], then and then[0]):
            raise NotTheSame(f"the kind of {path} changed")
        if was and now and was[0] != now[0]:
            raise NotTheSame(f"the mode of {path} changes")
        texts = [_lines(store, merger, path, leaf) for leaf in (was, now, onto, then)]
        if budget.is_spent:
            raise NotTheSame("the change is too large to compare")
        # A file that did not move on the base has the approved hunks.
        if (was, now) != (onto, then):
            _same_hunks(path, texts, budget)


def _changed(before: Files, after: Files) -> list[str]:
    return sorted(path for path in {*before, *after} if before.get(path) != after.get(path))


def _same_hunks(path: str, texts: Sequence[Lines], budget: StepBudget) -> None:
    was, now, onto, then = texts
    hunks = _hunks(was, now, budget)
    if hunks != _hunks(onto, then, budget) or budget.is_spent:
        raise NotTheSame(f"what changes in {path} is not the same any more")
    for old, _new in hunks:
        if _times(was, old) != 1 or _times(onto, old) != 1:
            raise NotTheSame(f"what changes in {path} could be meant for more than one place")


def _hunks(old: Lines, new: Lines, budget: StepBudget) -> list[tuple[Lines, Lines]]:
    """Return the old and new lines of each hunk, in order, wherever that is: hunks nearer to each other than
    the lines around them are one."""
    spans: list[tuple[int, int, int, int]] = []
    for block in diff_blocks(old, new, budget):
        if block.same:
            continue
        span = (block.old, block.old_end, block.new, block.new_end)
        if spans and span[0] - spans[-1][1] <= 2 * AROUND:
            span = (spans[-1][0], span[1], spans[-1][2], span[3])
            spans.pop()
        spans.append(span)
    return [(_around(old, a, b), _around(new, c, d)) for a, b, c, d in spans]


def _around(lines: Lines, first: int, end: int) -> Lines:
    """Return the lines with those around them, and a mark where the file begins or ends there."""
    start, stop = first - AROUND, end + AROUND
    begun = [b""] if start < 0 else []
    ended = [b""] if stop > len(lines) else []
    return begun + lines[max(start, 0) : stop] + ended


def _times(lines: Lines, part: Lines) -> int:
    """Count how often the part stands in the lines, up to 2."""
    # With the marks of `_around` for the beginning and the end of a file
    padded = [b"", *lines, b""]
    count = 0
    for at in range(len(padded) - len(part) + 1):
        # The first line alone is compared at most places, which is cheaper than a slice at each
        if padded[at] == part[0] and padded[at : at + len(part)] == part:
            count += 1
            if count == 2:
                break
    return count


def _lines(store: BaseObjectStore, merger: Merger, path: str, leaf: Leaf | None) -> Lines:
    if leaf is None:
        return []
    if leaf[0] not in PLAIN:
        raise NotTheSame(f"{path} is no plain file")
    blob = merger.blobs.get(leaf[1]) or store[ObjectID(leaf[1])]
    if not isinstance(blob, Blob) or blob.raw_length() > MOST_TEXT or b"\x00" in blob.data:
        raise NotTheSame(f"{path} is no text that can be compared")
    return blob.data.splitlines(keepends=True)
