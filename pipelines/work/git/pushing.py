"""Delivering: one commit, prepared from what was approved, by one fast-forward push. It is the same commit for every
attempt of its job, so that whoever comes after a crash finds it on the remote and pushes nothing twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dulwich.objects import Commit, ObjectID

from pipelines.work.git import checkout, commits
from pipelines.work.git.mirror import Mirror
from pipelines.work.git.reach import mirror_of
from pipelines.work.git.refusals import BASE_MOVED, NOTHING_DONE, GitRefused
from pipelines.work.git.remote import Remote, Told, moved
from pipelines.work.spec.repository import Clearance, DeliveryOrder

MERGE, SQUASH = "merge", "squash"
LOOKED_AT = 5_000
"""Commits of the remote among which one of ours is looked for."""


@dataclass(frozen=True)
class Landed:
    commit: str
    tree: str
    branch: str
    found: bool
    """Whether it was there already: an attempt before had pushed it."""


def deliver(order: DeliveryOrder, cleared: Clearance, told: Told) -> Landed:
    """In a thread. :raises GitRefused: base_moved, push_refused, nothing_done, or it cannot be reached"""
    access = order.access
    with mirror_of(access, told) as (mirror, remote):
        store = mirror.repository.object_store
        tree = checkout.tree_of(store, access.state.head)
        if tree == checkout.tree_of(store, access.state.base):
            raise GitRefused("Nothing was changed, so there is nothing to deliver.", NOTHING_DONE)
        commit = prepared(order, cleared, tree)
        number = commit.id.decode()
        now = remote.references().branch(cleared.branch)
        if now and _is_there(mirror, remote, now, number, cleared, told):
            return Landed(number, tree.decode(), cleared.branch, True)
        if now != cleared.onto:
            raise GitRefused(moved(cleared.branch, cleared.onto, now), BASE_MOVED)
        store.add_object(commit)
        told(f"{number[:7]} is pushed to {cleared.branch}")
        try:
            remote.push(mirror.repository, cleared.branch, cleared.onto, number)
        except GitRefused:
            # The answer may be lost of a push that came through.
            if remote.references().branch(cleared.branch) != number:
                raise
    return Landed(number, tree.decode(), cleared.branch, False)


def prepared(order: DeliveryOrder, cleared: Clearance, tree: ObjectID) -> Commit:
    """With `commit: visit` a merge is on top of the base and of the visits' commits, and the branch of a task is pushed
    with a last commit that says what was approved; with `squash` there is one commit."""
    access, to_merge = order.access, order.to == MERGE
    state = access.state
    onto = cleared.onto or (state.base if to_merge or access.order.commit == SQUASH else "")
    parents = [onto] if onto else []
    if access.order.commit != SQUASH:
        parents.append(state.head)
    subject = order.title if access.order.commit == SQUASH else f"Merge {state.branch}: {order.title}"
    trailers = {
        "Task": order.task,
        "Station": order.station,
        "Gate": cleared.gate,
        "Decision": cleared.approval,
        commits.DELIVERY: str(order.job),
    }
    text = commits.message(subject if to_merge else order.title, "", trailers)
    return commits.commit(tree, parents, text, cleared.at)


def _is_there(mirror: Mirror, remote: Remote, now: str, number: str, cleared: Clearance, told: Told) -> bool:
    """Whether the remote has our commit: at its end, or below what others pushed since."""
    if now == number:
        return True
    if now == cleared.onto:
        return False
    mirror.bring(remote, [now], told)
    return any(each.id.decode() == number and ours(each) for each in _history(mirror, now, cleared.onto))


def ours(commit: Commit) -> bool:
    return commit.committer == commits.COMMITTER and f"\n{commits.DELIVERY}: ".encode() in commit.message


def _history(mirror: Mirror, start: str, end: str) -> Iterator[Commit]:
    exclude = [ObjectID(end.encode())] if end and mirror.has(end) else []
    walker = mirror.repository.get_walker(
        include=[ObjectID(start.encode())], exclude=exclude, max_entries=LOOKED_AT
    )
    yield from (entry.commit for entry in walker)
