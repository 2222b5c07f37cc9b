"""An attempt of a station that works in a repository: its files before, and what it made of them after."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from dulwich.graph import find_merge_base
from dulwich.object_format import DEFAULT_OBJECT_FORMAT
from dulwich.objects import Commit, ObjectID
from dulwich.pack import write_pack_data

from pipelines.work.git import (
    attempt_repository,
    base_contents,
    branch_joins,
    checkout,
    commits,
    facts,
    foreign_pushes,
    tree_merge,
    trees,
)
from pipelines.work.git.branch_joins import PendingMerge
from pipelines.work.git.commits import is_branch
from pipelines.work.git.damage import refusing_damage
from pipelines.work.git.lfs.large_files import LargeFiles
from pipelines.work.git.mirror import Mirror
from pipelines.work.git.refusals import MERGE_CONFLICT, GitRefused
from pipelines.work.git.remote import ProgressCallback, Remote
from pipelines.work.git.submodules.checkout import SubmoduleFiles, check_out_submodules
from pipelines.work.git.submodules.modules import pinned_commit_by_path
from pipelines.work.git.task_mirror import open_task_mirror
from pipelines.work.git.trees import Leaf
from pipelines.work.spec.repository import GitLeft, GitState, RepositoryAccess
from pipelines.work.workspaces import Entry

PACK = "objects.pack"


@dataclass(frozen=True)
class Prepared:
    """`state`: where the attempt starts from. `earlier`: the heads that the task's packs lead to; others than that of
    the state where something was merged. `tree`: what stood there before the visit. `settles`: of a merge with
    conflicts, which the station is to settle."""

    access: RepositoryAccess
    state: GitState
    files: dict[str, Leaf]
    earlier: tuple[str, ...]
    tree: str
    settles: PendingMerge | None = None
    modules: SubmoduleFiles = field(default_factory=SubmoduleFiles)


def needs_fresh_files(access: RepositoryAccess) -> bool:
    """Return whether the files left by the previous station cannot be reused, because something is merged first
    or somebody pushed."""
    if access.order.pushed_by:
        return True
    # Something is merged first: what lies in the folder is one side of it
    return access.state.joined or (access.state.moved and bool(access.state.head))


def prepare_workspace(
    access: RepositoryAccess, workspace: Path, filled: bool, report: ProgressCallback
) -> Prepared:
    """The files of the branch into the workspace, unless it is `filled` with them, and a `.git` of its own beside them.
    In a thread. :raises GitRefused"""
    what = "The files of the repository cannot be laid out here"
    with refusing_damage(what), open_task_mirror(access, report) as (mirror, remote):
        state, settles, stood = state_to_start_from(access, mirror, remote, report)
        store = mirror.repository.object_store
        tree = settles.tree if settles else checkout.commit_tree(store, state.head)
        files = trees.leaf_by_path_of_tree(store, tree)
        if not filled:
            checkout.write_tree_into_folder(store, tree, workspace)
        LargeFiles(
            mirror, remote, state.base, report, access.stored, access.fetch
        ).replace_pointers_by_contents(workspace, files)
        modules = SubmoduleFiles()
        if pinned_commit_by_path(files):
            base_files = trees.leaf_by_path_of_tree(store, checkout.commit_tree(store, state.base))
            modules = check_out_submodules(access, remote, store, files, base_files, workspace, report)
        # What an attempt before left there could be anything, and is never read.
        attempt_repository.remove_git_folder(workspace)
        there = {path: leaf for path, leaf in files.items() if _is_there(workspace / path)}
        attempt_repository.make_repository(workspace, mirror, state.branch, state.head, there)
    earlier = access.state.heads or (state.base,)
    return Prepared(access, state, files, earlier, stood or tree.decode(), settles, modules)


class AttemptStart(NamedTuple):
    """Commits that an attempt starts from. `settles`: the merge whose conflicts it has to settle; `tree_before_push`:
    "" where nobody pushed."""

    state: GitState
    settles: PendingMerge | None
    tree_before_push: str


def state_to_start_from(
    access: RepositoryAccess, mirror: Mirror, remote: Remote, report: ProgressCallback
) -> AttemptStart:
    """Return the state that the attempt starts from: joined branches are merged, a person's push and a moved
    base are taken in. :raises GitRefused"""
    state, settles, stood = access.state, None, ""
    if state.branches:
        state, settles = branch_joins.join_branches_into_state_and_pending_merge(access, mirror, report)
    state = _initial_state(access, state, mirror, remote, report)
    if access.order.pushed_by:
        stood = checkout.commit_tree(mirror.repository.object_store, state.head).decode()
        state = foreign_pushes.state_with_foreign_push(access, state, mirror, remote, report)
    # One merge at a time: conflicts are settled first, and the base stays marked as moved until
    # then
    if state.moved and settles is None:
        state, settles = _state_with_base_merged_and_pending_merge(access, state, mirror, remote, report)
    return AttemptStart(state, settles, stood)


def _is_there(path: Path) -> bool:
    try:
        # Not `stat`: a link that leads nowhere is there, too.
        path.lstat()
    except OSError:
        return False
    return True


def _initial_state(
    access: RepositoryAccess, state: GitState, mirror: Mirror, remote: Remote, report: ProgressCallback
) -> GitState:
    if state.head:
        return (
            state if state.branch else replace(state, branch=_checked_branch_name(access, state.base_branch))
        )
    base, commit, _refs = mirror.fetch_branch_or_tag(
        remote, access.base or access.order.default_branch, report
    )
    report(f"{base} is at {commit[:7]}")
    state = GitState(branch=_checked_branch_name(access, base), base_branch=base, base=commit, head=commit)
    return _state_with_head_changes(access, state, mirror, remote, report) if access.head else state


def _state_with_head_changes(
    access: RepositoryAccess, state: GitState, mirror: Mirror, remote: Remote, report: ProgressCallback
) -> GitState:
    """Add what a branch changed since it left the base, on top of where the base is now. :raises GitRefused"""
    name, commit, _refs = mirror.fetch_branch_or_tag(remote, access.head, report)
    report(f"{name} is at {commit[:7]}")
    shared = find_merge_base(mirror.repository, [ObjectID(sha.encode()) for sha in (state.base, commit)])
    if not shared:
        raise GitRefused(f"{name} and {state.base_branch} have no commit in common.")
    state = replace(state, base=shared[0].decode(), head=commit)
    # Without what is left to settle: a task that begins here gets a refusal for its conflicts
    # instead
    return _state_with_base_merged_and_pending_merge(access, state, mirror, remote, report)[0]


def _checked_branch_name(access: RepositoryAccess, base: str) -> str:
    if not is_branch(access.branch):
        raise GitRefused(
            f"{access.branch!r} is no name for a branch. Change the template in the settings of the line."
        )
    if access.branch == base:
        raise GitRefused(f"The branch of a task cannot be {base}, which it starts from.")
    return access.branch


def _state_with_base_merged_and_pending_merge(
    access: RepositoryAccess, state: GitState, mirror: Mirror, remote: Remote, report: ProgressCallback
) -> tuple[GitState, PendingMerge | None]:
    """The branch on top of where the base is now: a merge of both. Where the base was rewritten, one commit on top of
    it: what was taken out of its history does not come back by a task. What both changed ends the first visit; the next
    one gets both sides, and settles them. :raises GitRefused: merge_conflict"""
    repository = mirror.repository
    branch, commit, _refs = mirror.fetch_branch_or_tag(remote, state.base_branch, report)
    # The base stands where it stood, or again.
    if commit == state.base:
        return replace(state, moved=False), None
    base, ours, theirs = (
        trees.leaf_by_path_of_tree(
            repository.object_store, checkout.commit_tree(repository.object_store, sha)
        )
        for sha in (state.base, state.head, commit)
    )
    merger = tree_merge.Merger(repository.object_store)
    files = merger.merge_and_collect_conflicts(base, ours, theirs, ("this task", branch))
    # The new base does not lead back to the old one.
    rewritten = not branch_joins.is_ancestor(mirror, state.base, commit)
    parents = [commit] if rewritten else [state.head, commit]
    # The line may have a station for conflicts: it is told first, and sends the task there
    if merger.conflicts and not state.conflicted:
        raise GitRefused(
            f"{merger.conflicts_in_words(f'This task and {branch}')}. "
            "Send it to a station that settles it, or start anew.",
            MERGE_CONFLICT,
            tuple(merger.conflicts),
        )
    if merger.conflicts:
        names = f"This task and {branch}"
        settles = branch_joins.pending_merge(mirror, merger, files, tuple(parents), names, report)
        return replace(state, base=commit, moved=False), settles
    text = f"{'Move onto' if rewritten else 'Take in'} {branch} at {commit[:7]}"
    head, tree = branch_joins.create_merge_commit_and_tree(access, mirror, merger, files, parents, text)
    how = "was rewritten and is at" if rewritten else "moved to"
    report(f"{branch} {how} {commit[:7]}, which is taken in")
    return replace(state, base=commit, head=head, tree=tree, moved=False), None


@dataclass(frozen=True)
class Trailers:
    task: str
    title: str
    visit: int
    job: int


class CommittedAttempt(NamedTuple):
    """Commits that an attempt leaves, the facts about them, and the files of new objects as {digest: (path below the
    root, size in bytes)}."""

    left: GitLeft
    facts: dict[str, Any]
    object_files: dict[str, tuple[str, int]]


def commit_attempt(
    prepared: Prepared,
    root: Path,
    workspace: Path,
    manifest: tuple[Entry, ...],
    trailer_data: Trailers,
    pins: Mapping[str, ObjectID] | None = None,
) -> CommittedAttempt:
    """Commit what the station changed. Its processes are gone. `pins`: {path: commit} of the submodules. In
    a thread. :raises GitRefused"""
    with refusing_damage("What the station left cannot be committed"):
        return _commit_in_mirror(prepared, root, workspace, manifest, trailer_data, pins or {})


def _commit_in_mirror(
    prepared: Prepared,
    root: Path,
    workspace: Path,
    manifest: tuple[Entry, ...],
    trailer_data: Trailers,
    pins: Mapping[str, ObjectID],
) -> CommittedAttempt:
    access, state = prepared.access, prepared.state
    # The station could write beside its workspace, links too: what we write goes where it has never been.
    own = Path(tempfile.mkdtemp(prefix="git-", dir=root))
    with open_task_mirror(replace(access, state=fetchable_state(prepared)), lambda text: None) as (
        mirror,
        remote,
    ):
        store, settles = mirror.repository.object_store, prepared.settles
        leaves, blobs = trees.read_workspace_tree_and_new_blobs(
            workspace, manifest, prepared.files, store, pins
        )
        tree, made = trees.root_id_and_trees(leaves)
        head = state.head
        # A merge is committed even where the files stay the same: its parents do not.
        if settles or leaves != prepared.files:
            commit = _new_commit(access, tree, settles.parents if settles else (head,), trailer_data)
            branch_joins.add_objects(mirror, [*blobs, *made, commit])
            head = commit.id.decode()
        if settles:
            settles.refuse_remaining_conflict_marks(store, leaves)
        base_files = trees.leaf_by_path_of_tree(store, checkout.commit_tree(store, state.base))
        counted = facts.git_facts(store, base_files, leaves, access.order.sensitive)
        large = LargeFiles(mirror, remote, state.base, lambda text: None, access.stored, access.fetch)
        large.keep_large_files_of_station(workspace, leaves)
        before, base_blobs = base_contents.base_entries_and_stored_sources(
            store, base_files, leaves, own, large
        )
        group = {
            "base": state.base,
            "head": head,
            "tree": tree.decode(),
            "commits": count_commits_ahead(mirror, state.base, head),
            **counted,
        }
        known = {*prepared.earlier, state.base}
        # Without a new commit there is nothing to pack.
        packs = _pack_new_objects(mirror, known, head, own / PACK) if head not in known else {}
    order = access.order
    left = GitLeft(
        order.repository,
        order.name,
        state.branch,
        state.base_branch,
        state.base,
        head,
        tree.decode(),
        next(iter(packs), ""),
        before,
    )
    return CommittedAttempt(
        left,
        group,
        {digest: (f"{own.name}/{name}", size) for digest, (name, size) in {**base_blobs, **packs}.items()},
    )


def fetchable_state(prepared: Prepared) -> GitState:
    """Return what can be fetched again, if the mirror expired meanwhile."""
    if prepared.access.state.heads:
        return prepared.access.state
    return replace(prepared.state, packs=())


def _new_commit(
    access: RepositoryAccess, tree: ObjectID, parents: Sequence[str], trailer_data: Trailers
) -> Commit:
    order = access.order
    trailers = {
        "Task": trailer_data.task,
        "Station": order.station,
        "Visit": str(trailer_data.visit),
        "Gateline-Job": str(trailer_data.job),
    }
    text = commits.commit_message(f"{order.station}: {trailer_data.title}", "", trailers)
    author = commits.station_author(order.author or order.station, order.author_key)
    return commits.new_commit(tree, parents, text, int(time.time()), author)


def _pack_new_objects(mirror: Mirror, known: set[str], head: str, file: Path) -> dict[str, tuple[str, int]]:
    """Pack everything from the known commits to the head into one file."""
    store = mirror.repository.object_store
    # Only what the other side has for sure may be left out
    have = {ObjectID(object_id.encode()) for object_id in known if object_id and mirror.has_commit(object_id)}
    count, data = store.generate_pack_data(have, {ObjectID(head.encode())})
    with file.open("xb") as target:
        write_pack_data(target.write, data, num_records=count, object_format=DEFAULT_OBJECT_FORMAT)
    with file.open("rb") as source:
        digest = hashlib.file_digest(source, "sha256").hexdigest()
    return {digest: (file.name, file.stat().st_size)}


def count_commits_ahead(mirror: Mirror, base: str, head: str) -> int:
    """Commits of the task: those that the base does not have."""
    if base == head:
        return 0
    walker = mirror.repository.get_walker(
        include=[ObjectID(head.encode())], exclude=[ObjectID(base.encode())], max_entries=10_000
    )
    return sum(1 for _ in walker)
