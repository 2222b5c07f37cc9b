"""Branches that met at a join: their trees are merged in its order before a station works there (law §15). At the join
itself a conflict is the outcome; a station that comes after it gets both sides, and settles them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dulwich.graph import can_fast_forward
from dulwich.object_store import BaseObjectStore
from dulwich.objects import Blob, ObjectID, ShaFile

from pipelines.work.git import checkout, commits, trees
from pipelines.work.git.mirror import Mirror
from pipelines.work.git.refusals import MERGE_CONFLICT, GitRefused, list_of_first_paths
from pipelines.work.git.remote import ProgressCallback
from pipelines.work.git.tree_merge import Files, Merger, has_conflict_marks
from pipelines.work.git.trees import Leaf
from pipelines.work.spec.repository import GitState, RepositoryAccess


@dataclass(frozen=True)
class PendingMerge:
    """A merge that left conflicts: what the station starts from, and the commits that its own follows."""

    tree: ObjectID
    parents: tuple[str, ...]
    marked: tuple[str, ...]

    def refuse_remaining_conflict_marks(self, store: BaseObjectStore, leaves: Mapping[str, Leaf]) -> None:
        """:raises GitRefused: a file still holds both sides"""
        left = [path for path in self.marked if path in leaves and _has_conflict_marks(store, leaves[path])]
        if left:
            raise GitRefused(
                f"Still in conflict: {list_of_first_paths(left)}. Choose between the marks, and take the marks out.",
                MERGE_CONFLICT,
                left,
            )


def _has_conflict_marks(store: BaseObjectStore, leaf: Leaf) -> bool:
    git_object = store[leaf[1]]
    return isinstance(git_object, Blob) and has_conflict_marks(git_object.data)


def join_branches_into_state_and_pending_merge(
    access: RepositoryAccess, mirror: Mirror, report: ProgressCallback
) -> tuple[GitState, PendingMerge | None]:
    """The state after the merge; with what is left to settle, where it has conflicts and this is not the join.

    :raises GitRefused: merge_conflict, at the join"""
    state, store = access.state, mirror.repository.object_store
    branches = state.branches
    bases = [state.base, *(branch.base for branch in branches)]
    newest, oldest = _newest_base(mirror, bases), _newest_base(mirror, bases, oldest=True)
    # Where no station worked before the fork, the oldest base is the last that all branches share
    began: Files = trees.leaf_by_path_of_tree(store, checkout.commit_tree(store, state.head or oldest))
    merger, names = Merger(store), branches[0].name
    files = trees.leaf_by_path_of_tree(store, checkout.commit_tree(store, branches[0].head))
    for branch in branches[1:]:
        theirs = trees.leaf_by_path_of_tree(store, checkout.commit_tree(store, branch.head))
        files = merger.merge_and_collect_conflicts(began, files, theirs, (names, branch.name))
        names = f"{names}, {branch.name}"
    heads = tuple(branch.head for branch in branches)
    state = replace(state, base=newest, head=heads[0], joined=False, branches=())
    if merger.conflicts:
        if access.order.joins:
            paths = tuple(merger.conflicts)
            raise GitRefused(
                f"{merger.conflicts_in_words(names)}. Send it to a station that settles it.",
                MERGE_CONFLICT,
                paths,
            )
        return state, pending_merge(mirror, merger, files, heads, names, report)
    # The head of a single branch needs no merge.
    if len(heads) > 1:
        head, _tree = create_merge_commit_and_tree(access, mirror, merger, files, heads, f"Join {names}")
        report(f"{names} are merged")
        state = replace(state, head=head)
    return state, None


def pending_merge(
    mirror: Mirror,
    merger: Merger,
    files: Files,
    parents: tuple[str, ...],
    names: str,
    report: ProgressCallback,
) -> PendingMerge:
    """Return a merge that still has conflicts, which stand between marks in its files: the next station settles
    it."""
    paths = tuple(merger.conflicts)
    tree, made = trees.root_id_and_trees(files)
    add_objects(mirror, [*merger.blobs.values(), *made])
    marks = " Both sides stand between marks." if merger.marked else ""
    report(f"{merger.conflicts_in_words(names)}.{marks}")
    for path in (candidate for candidate in paths if candidate not in merger.marked):
        report(f"{path} cannot hold both: it is as the first of them left it.")
    return PendingMerge(tree, parents, tuple(merger.marked))


def create_merge_commit_and_tree(
    access: RepositoryAccess,
    mirror: Mirror,
    merger: Merger,
    files: Files,
    parents: Sequence[str],
    subject: str,
) -> tuple[str, str]:
    """A commit of ours with what was merged, and its tree."""
    tree, made = trees.root_id_and_trees(files)
    text = commits.commit_message(subject, "", {"Station": access.order.station})
    merge = commits.new_commit(tree, parents, text, int(time.time()))
    add_objects(mirror, [*merger.blobs.values(), *made, merge])
    return merge.id.decode(), tree.decode()


def add_objects(mirror: Mirror, objects: Iterable[ShaFile]) -> None:
    store = mirror.repository.object_store
    new = {git_object.id: git_object for git_object in objects if git_object.id not in store}
    store.add_objects([(git_object, None) for git_object in new.values()])


def _newest_base(mirror: Mirror, bases: Sequence[str], oldest: bool = False) -> str:
    """Return the newest of the commits that the branches started from: the branch that they name moved
    meanwhile."""
    newest = next(base for base in bases if base)
    for base in bases:
        if base and base != newest and is_ancestor(mirror, *((base, newest) if oldest else (newest, base))):
            newest = base
    return newest


def is_ancestor(mirror: Mirror, older: str, newer: str) -> bool:
    """Return whether one commit came from the other."""
    return can_fast_forward(mirror.repository, ObjectID(older.encode()), ObjectID(newer.encode()))
