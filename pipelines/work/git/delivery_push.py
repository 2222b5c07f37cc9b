"""Delivering: one commit, prepared from what was approved, by one fast-forward push. It names its job, so that whoever
comes after a crash finds it on the remote and pushes nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from dulwich.objects import Commit, ObjectID

from pipelines.routing.document.kinds.deliver import SAME_PATCH
from pipelines.work.git import checkout, commits, foreign_pushes, same_patch
from pipelines.work.git.mirror import Mirror
from pipelines.work.git.refusals import BASE_MOVED, BRANCH_CHANGED, NOT_APPROVED, NOTHING_DONE, GitRefused
from pipelines.work.git.remote import ProgressCallback, moved_message
from pipelines.work.git.task_mirror import open_task_mirror
from pipelines.work.results.git_changes import trailers
from pipelines.work.spec.repository import Clearance, DeliveryOrder

MERGE, SQUASH = "merge", "squash"
LOOKED_AT = 5_000
"""Commits of the remote among which one of ours is looked for."""


@dataclass(frozen=True)
class LandedCommit:
    commit: str
    tree: str
    branch: str
    found: bool
    """Whether it was there already: an attempt before had pushed it."""
    base: str = ""
    """Where the branch stood before: "" where it is new, or was deleted and is pushed anew."""


class BaseMoved(GitRefused):
    """`onto`: where the base stands now. `tree`: what the approved change makes of it, where that is the same change
    (`rebase: same_patch`); else ""."""

    def __init__(self, message: str, onto: str, tree: str) -> None:
        self.onto, self.tree = onto, tree
        super().__init__(message, BASE_MOVED)


class DeliveryQueued(Exception):
    """Another delivery to this branch comes first: look again after so many seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__()


class Stopped(Exception):
    """Nobody waits for this delivery any more: nothing is pushed."""


@dataclass(frozen=True)
class Permission:
    """`clear` asks the server, whatever that takes; `stopped`: the job was cancelled, or its worker goes."""

    clear: Callable[[], Clearance]
    stopped: Callable[[], bool]

    def check(self) -> None:
        if self.stopped():
            raise Stopped

    def ask_clearance(self, branch: str, tree: ObjectID) -> Clearance:
        """:raises GitRefused: not cleared, or cleared for something else"""
        self.check()
        cleared = self.clear()
        if cleared.wait:
            raise DeliveryQueued(cleared.wait)
        if cleared.refused:
            raise GitRefused(cleared.refused, cleared.failure_type)
        # The approval is of this tree for this branch, and of nothing else.
        if (cleared.branch, cleared.tree) != (branch, tree.decode()):
            raise GitRefused(
                "What was cleared is not what this delivery would push, so nothing was delivered. "
                "Have the change approved as it is now.",
                NOT_APPROVED,
            )
        return cleared


def deliver(order: DeliveryOrder, may: Permission, report: ProgressCallback) -> LandedCommit:
    """Deliver, in a thread. Anything that waits comes first, so that the server is asked directly before the
    push.

    :raises GitRefused: not_approved, base_moved, branch_changed, push_refused, nothing_done, or it cannot
    be reached; DeliveryQueued; Stopped
    """
    access = order.access
    state = access.state
    branch = state.base_branch if order.to == MERGE else state.branch
    with open_task_mirror(access, report) as (mirror, remote):
        store = mirror.repository.object_store
        tree = tree_to_deliver(order, mirror)
        may.check()
        refs = remote.references()
        foreign_pushes.check_foreign_pushes(access, mirror, remote, refs, report)
        now = refs.branch_commit(branch)
        if now:
            mirror.fetch_commits(remote, [now], report)
        cleared = _restarted_clearance(order, may.ask_clearance(branch, tree), now)
        commit = delivery_commit(order, cleared, tree)
        number = commit.id.decode()
        if landed_commit := _find_landed(mirror, now, cleared.onto or state.base, order.job, tree):
            return LandedCommit(
                landed_commit,
                tree.decode(),
                branch,
                True,
                _base_of_landed(mirror, landed_commit, cleared.onto),
            )
        if now and now == cleared.onto and checkout.tree_of(store, now) == tree:
            # A delivery before pushed it; what came after that push, like opening a request, failed.
            return LandedCommit(now, tree.decode(), branch, True, cleared.onto)
        if now != cleared.onto:
            raise moved_refusal(order, mirror, (branch, cleared.onto, now), report)
        store.add_object(commit)
        report(f"{number[:7]} is pushed to {branch}")
        try:
            remote.push(mirror.repository, branch, cleared.onto, number, may.check)
        except GitRefused as error:
            # The answer may be lost of a push that came through; or another one came first.
            now = remote.references().branch_commit(branch)
            if now:
                mirror.fetch_commits(remote, [now], report)
            if landed_commit := _find_landed(mirror, now, cleared.onto or state.base, order.job, tree):
                return LandedCommit(
                    landed_commit,
                    tree.decode(),
                    branch,
                    True,
                    _base_of_landed(mirror, landed_commit, cleared.onto),
                )
            if now != cleared.onto:
                raise moved_refusal(order, mirror, (branch, cleared.onto, now), report) from error
            raise
    return LandedCommit(number, tree.decode(), branch, False, cleared.onto)


def tree_to_deliver(order: DeliveryOrder, mirror: Mirror) -> ObjectID:
    """The files that the task made. :raises GitRefused: not_approved, nothing_done"""
    state, store = order.access.state, mirror.repository.object_store
    if state.joined:
        raise GitRefused(
            "The branches that met have not been merged. Join them at a station before it.", NOT_APPROVED
        )
    if not state.head:
        raise GitRefused("No station has worked in the repository yet.", NOTHING_DONE)
    tree = checkout.tree_of(store, state.head)
    if tree == checkout.tree_of(store, state.base):
        raise GitRefused("Nothing was changed, so there is nothing to deliver.", NOTHING_DONE)
    return tree


def delivery_commit(order: DeliveryOrder, cleared: Clearance, tree: ObjectID) -> Commit:
    """Return the commit to push. Under `commit: visit` a merge is on top of the base and of the visits'
    commits, and the branch of a task is pushed with a last commit that says what was approved; under
    `squash` there is one commit."""
    access, to_merge = order.access, order.to == MERGE
    state = access.state
    onto = cleared.onto or (state.base if to_merge or access.order.commit == SQUASH else "")
    parents = [onto] if onto else []
    # The task may not have moved on from there, and git takes no parent twice
    if access.order.commit != SQUASH and state.head not in parents:
        parents.append(state.head)
    subject = order.title if access.order.commit == SQUASH else f"Merge {order.task}: {order.title}"
    trailer_values = {
        "Task": order.task,
        "Branch": state.branch,
        "Station": order.station,
        "Gate": cleared.gate,
        "Decision": cleared.approval,
        commits.DELIVERY: str(order.job),
    }
    text = commits.message(subject if to_merge else order.title, "", trailer_values)
    # The time of the clearance, not of now: an attempt that is repeated makes the same commit
    return commits.commit(tree, parents, text, cleared.at)


def _base_of_landed(mirror: Mirror, landed: str, onto: str) -> str:
    """Return where the branch stood on which this commit of ours landed: "" where that was pushed anew."""
    git_object = mirror.repository[ObjectID(landed.encode())]
    assert isinstance(git_object, Commit)
    return onto if onto.encode() in git_object.parents else ""


def _restarted_clearance(order: DeliveryOrder, cleared: Clearance, now: str) -> Clearance:
    """The branch of a task begins again where people deleted it, as hosts offer once a request was merged."""
    return cleared if order.to == MERGE or now else replace(cleared, onto="")


def moved_refusal(
    order: DeliveryOrder, mirror: Mirror, where: tuple[str, str, str], report: ProgressCallback
) -> GitRefused:
    """Return the refusal after a branch moved. `where`: branch, where it should stand, where it does. A base
    that moved is taken in by a new round; what others pushed to the branch of a task is for people."""
    branch, onto, now = where
    if order.to == MERGE:
        return BaseMoved(moved_message(branch, onto, now), now, _same_patch_tree(order, mirror, now, report))
    if not now:
        return GitRefused(f"{branch} was deleted while it was pushed to. Deliver again.", BRANCH_CHANGED)
    left = f"this task left it at {onto[:7]}" if onto else "this task has not pushed it yet"
    return GitRefused(
        f"{branch} is at {now[:7]} on the remote, which this task did not push: {left}. Nothing was pushed. "
        f"Keep what was added under another name, delete {branch} there, and deliver again.",
        BRANCH_CHANGED,
    )


def _same_patch_tree(order: DeliveryOrder, mirror: Mirror, now: str, report: ProgressCallback) -> str:
    """Return the tree of the approved change on the moved base, if it is the same patch and the delivery may
    continue with it; else ""."""
    if order.rebase != SAME_PATCH or not now:
        return ""
    state = order.access.state
    try:
        tree = same_patch.same_patch_tree(mirror, state.base, state.head, now)
    except same_patch.NotTheSame as why:
        report(f"People are asked again: {why}")
        return ""
    report(f"The approved change is the same on {now[:7]}: it lands without people if its checks pass there")
    return tree


def _find_landed(mirror: Mirror, now: str, since: str, job: int, tree: ObjectID) -> str:
    """The commit of this job on the remote, at its end or below what others pushed since; "" where there is none."""
    if not now or now == since:
        return ""
    history = _history(mirror, now, since)
    return next((commit.id.decode() for commit in history if is_own_commit(commit, job, tree)), "")


def is_own_commit(commit: Commit, job: int, tree: ObjectID) -> bool:
    """Return whether Gateline made the commit for this job: its other contents may have changed since, like
    the title of the task."""
    trailer_values = trailers(commit.message.decode(errors="replace"))
    return (
        # Anybody can write such a trailer: author and tree have to be ours, too.
        commit.author == commit.committer == commits.COMMITTER
        and trailer_values.get(commits.DELIVERY) == [str(job)]
        and commit.tree == tree
    )


def _history(mirror: Mirror, start: str, end: str) -> Iterator[Commit]:
    exclude = [ObjectID(end.encode())] if end and mirror.has(end) else []
    walker = mirror.repository.get_walker(
        include=[ObjectID(start.encode())], exclude=exclude, max_entries=LOOKED_AT
    )
    yield from (entry.commit for entry in walker)
