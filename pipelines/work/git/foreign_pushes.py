"""Pushes of people to the branch of a task: detected on its remote, and taken in by a visit of theirs (law
§15)."""

from __future__ import annotations

from dataclasses import replace

from dulwich.graph import find_merge_base
from dulwich.objects import ObjectID

from pipelines.work.git import checkout, commits
from pipelines.work.git.mirror import Mirror
from pipelines.work.git.refusals import BRANCH_CHANGED, GitRefused
from pipelines.work.git.remote import ProgressCallback, References, Remote
from pipelines.work.results.text import escaped_for_storage
from pipelines.work.spec.repository import GitState, RepositoryAccess

LOOKED_AT = 200
"""New commits whose authors are read."""


class PeoplePushed(GitRefused):
    """The branch of the task stands at a commit that it did not push. `who`: addresses of the new commits."""

    def __init__(self, message: str, commit: str, who: tuple[str, ...]) -> None:
        super().__init__(message, BRANCH_CHANGED)
        self.commit, self.who = commit, who


def check_foreign_pushes(
    access: RepositoryAccess, mirror: Mirror, remote: Remote, refs: References, report: ProgressCallback
) -> None:
    """:raises PeoplePushed: before anything is delivered"""
    state = access.state
    now = refs.branch_commit(state.branch)
    # Not there, or as the task left it
    if not now or now == state.pushed:
        return
    mirror.fetch_commits(remote, [now], report)
    known = (sha for sha in (state.head, state.base, state.pushed) if sha and mirror.has_commit(sha))
    walker = mirror.repository.get_walker(
        include=[ObjectID(now.encode())],
        exclude=[ObjectID(sha.encode()) for sha in known],
        max_entries=LOOKED_AT,
    )
    new = [entry.commit for entry in walker]
    if not new and not state.pushed:
        return  # people keep there what the task committed
    if (
        new
        and all(commit.committer == commits.COMMITTER for commit in new)
        and _has_files_of_task(mirror, state, now)
    ):
        return  # ours, whose answer got lost
    names = (
        name for commit in new for name in (commit.author, commit.committer) if name != commits.COMMITTER
    )
    who = dict.fromkeys(_mail_address(name) for name in names)
    left = f"this task left it at {state.pushed[:7]}" if state.pushed else "this task has not pushed it yet"
    raise PeoplePushed(
        f"{state.branch} is at {now[:7]} on the remote, which this task did not push: {left}. Nothing was pushed. "
        "The task goes on with it where it can. Otherwise keep what was added under another name, "
        f"delete {state.branch} there, and deliver again.",
        now,
        tuple(filter(None, who)),
    )


def _has_files_of_task(mirror: Mirror, state: GitState, commit: str) -> bool:
    """Return whether a commit has the files of a visit of the task: anybody can write our name into one."""
    if not state.head or not mirror.has_commit(state.head):
        return False
    walker = mirror.repository.get_walker(
        include=[ObjectID(state.head.encode())],
        exclude=[ObjectID(sha.encode()) for sha in (state.base,) if mirror.has_commit(sha)],
        max_entries=LOOKED_AT,
    )
    trees = {entry.commit.tree for entry in walker}
    return checkout.commit_tree(mirror.repository.object_store, commit) in trees


def _mail_address(name: bytes) -> str:
    """Return the address in `Ann <ann@example.com>`."""
    address = name.decode("utf-8", "replace").rpartition("<")[2].partition(">")[0]
    return escaped_for_storage(address.strip())[:200]


def state_with_foreign_push(
    access: RepositoryAccess, state: GitState, mirror: Mirror, remote: Remote, report: ProgressCallback
) -> GitState:
    """The branch as it stands on the remote, on top of where it left its base. :raises GitRefused"""
    refs = remote.read_references()
    now, main = refs.branch_commit(state.branch), refs.branch_commit(state.base_branch)
    if not now:
        raise GitRefused(f"{state.branch} is not on the remote any more.", BRANCH_CHANGED)
    if not main:
        raise GitRefused(f"The repository has no branch {state.base_branch} any more.")
    mirror.fetch_commits(remote, [now, main], report)
    # Their commits stand on what they branched from, which the base may have left since
    shared = find_merge_base(mirror.repository, [ObjectID(sha.encode()) for sha in (now, main)])
    if not shared:
        raise GitRefused(
            f"{state.branch} and {state.base_branch} have no commit in common. Push a branch that begins there.",
            BRANCH_CHANGED,
        )
    report(f"{state.branch} is at {now[:7]}, pushed by {access.order.pushed_by}")
    tree = checkout.commit_tree(mirror.repository.object_store, now)
    return replace(state, base=shared[0].decode(), head=now, tree=tree.decode(), joined=False, branches=())
