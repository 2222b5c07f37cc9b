"""Delivery through the host of a repository: the approved files at the end of the task's branch, on the
recorded base; and afterwards what the host made of them (law §15)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dulwich.objects import Commit, ObjectID

from pipelines.routing.document.kinds.deliver import REQUEST
from pipelines.work.git import checkout, foreign_pushes
from pipelines.work.git.delivery_push import (
    SQUASH,
    Permission,
    approved_tree_to_deliver,
    delivery_commit,
    moved_refusal,
    publish_large_files,
)
from pipelines.work.git.mirror import Mirror
from pipelines.work.git.refusals import BRANCH_CHANGED, GitRefused
from pipelines.work.git.remote import ProgressCallback
from pipelines.work.git.task_mirror import open_task_mirror
from pipelines.work.spec.repository import DeliveryOrder, DeliveryPermission, RepositoryAccess


@dataclass(frozen=True)
class HostProposal:
    """`head`: the commit that the host is asked to merge; it has exactly the approved `tree`."""

    head: str
    tree: str


def push_proposal(order: DeliveryOrder, may: Permission, report: ProgressCallback) -> HostProposal:
    """Propose the change, in a thread. The branch of the task ends with the approved files; it is pushed
    where it does not yet.

    :raises GitRefused: not_approved, base_moved, branch_changed, push_refused, nothing_done; DeliveryQueued;
    Stopped
    """
    access = order.access
    state = access.state
    with open_task_mirror(access, report) as (mirror, remote):
        tree = approved_tree_to_deliver(order, mirror)
        may.raise_if_stopped()
        refs = remote.read_references()
        foreign_pushes.check_foreign_pushes(access, mirror, remote, refs, report)
        now, base = refs.branch_commit(state.branch), refs.branch_commit(state.base_branch)
        mirror.fetch_commits(remote, [sha for sha in (now, base) if sha], report)
        cleared = may.ask_clearance(state.base_branch, tree)
        if base != cleared.onto:
            raise moved_refusal(order, mirror, (state.base_branch, cleared.onto, base), report)
        # An attempt before pushed it.
        if now and _is_proposal(mirror, now, cleared, tree):
            return HostProposal(now, tree.decode())
        commit = delivery_commit(replace(order, to=REQUEST), replace(cleared, onto=now), tree)
        if now and access.order.commit == SQUASH:  # what was pushed before may stand on an older base
            commit.parents = [ObjectID(sha.encode()) for sha in (now, cleared.onto)]
        publish_large_files(order, mirror, remote, may, report)
        mirror.repository.object_store.add_object(commit)
        head = commit.id.decode()
        report(f"{head[:7]} is pushed to {state.branch}")
        remote.push(mirror.repository, state.branch, now, head, may.raise_if_stopped)
    return HostProposal(head, tree.decode())


def _is_proposal(mirror: Mirror, commit: str, cleared: DeliveryPermission, tree: ObjectID) -> bool:
    """Return whether this commit has the approved files and stands on the recorded base: then a merge of it
    there makes exactly them."""
    if checkout.commit_tree(mirror.repository.object_store, commit) != tree:
        return False
    # One commit of the base that is missing there is enough
    walker = mirror.repository.get_walker(
        include=[ObjectID(cleared.onto.encode())], exclude=[ObjectID(commit.encode())], max_entries=1
    )
    return not any(True for _entry in walker)


def merged_tree(access: RepositoryAccess, head: str, commit: str, tree: str, report: ProgressCallback) -> str:
    """Return the tree of the host's merge `commit`, in a thread.

    `head`: the host's report of what it merged, "" where that is what it was asked to.

    :raises GitRefused: it merged other files than were approved, or it is not there
    """
    state = access.state
    with open_task_mirror(access, report) as (mirror, remote):
        base = remote.read_references().branch_commit(state.base_branch)
        mirror.fetch_commits(remote, [sha for sha in dict.fromkeys((base, head, commit)) if sha], report)
        if head and checkout.commit_tree(mirror.repository.object_store, head).decode() != tree:
            raise GitRefused(
                f"The host merged {head[:7]} into {state.base_branch}, and this is not what was approved here. "
                "Look at the request on the host, and start the task anew for what is missing.",
                BRANCH_CHANGED,
            )
        git_object = mirror.repository[ObjectID(commit.encode())] if mirror.has_commit(commit) else None
        if not isinstance(git_object, Commit):
            raise GitRefused(
                f"The host says that it merged as {commit[:7]}, which the repository does not have."
            )
        return git_object.tree.decode()
