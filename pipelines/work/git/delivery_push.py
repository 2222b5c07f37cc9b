"""Delivering: one commit, prepared from what was approved, by one fast-forward push. It names its job, so that whoever
comes after a crash finds it on the remote and pushes nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dulwich.object_store import BaseObjectStore
from dulwich.objects import Blob, Commit, ObjectID

from pipelines.formats.evidence.trees.line_diff import StepBudget, diff_blocks
from pipelines.routing.document.kinds.deliver import SAME_PATCH
from pipelines.work.git import branch_joins, checkout, commits, foreign_pushes, trees
from pipelines.work.git.lfs.large_files import LargeFiles
from pipelines.work.git.lfs.pointers import parsed_pointer_or_none
from pipelines.work.git.mirror import Mirror
from pipelines.work.git.refusals import BASE_MOVED, BRANCH_CHANGED, NOT_APPROVED, NOTHING_DONE, GitRefused
from pipelines.work.git.remote import ProgressCallback, Remote, moved_message
from pipelines.work.git.task_mirror import open_task_mirror
from pipelines.work.git.tree_merge import MOST_STEPS, MOST_TEXT, Files, Lines, Merger
from pipelines.work.git.trees import Leaf
from pipelines.work.results.git_changes import message_trailers
from pipelines.work.spec.repository import DeliveryOrder, DeliveryPermission

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
    """`clear` asks the server, whatever that takes; `stopped`: the job was cancelled, or its worker goes. `find`: where
    the task stored files of these digests."""

    clear: Callable[[], DeliveryPermission]
    stopped: Callable[[], bool]
    find: Callable[[Sequence[str]], Mapping[str, str]] = lambda digests: {}

    def raise_if_stopped(self) -> None:
        if self.stopped():
            raise Stopped

    def ask_clearance(self, branch: str, tree: ObjectID) -> DeliveryPermission:
        """:raises GitRefused: not cleared, or cleared for something else"""
        self.raise_if_stopped()
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


def push_delivery(order: DeliveryOrder, may: Permission, report: ProgressCallback) -> LandedCommit:
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
        tree = approved_tree_to_deliver(order, mirror)
        may.raise_if_stopped()
        refs = remote.read_references()
        foreign_pushes.check_foreign_pushes(access, mirror, remote, refs, report)
        now = refs.branch_commit(branch)
        if now:
            mirror.fetch_commits(remote, [now], report)
        cleared = _restarted_clearance(order, may.ask_clearance(branch, tree), now)
        commit = delivery_commit(order, cleared, tree)
        number = commit.id.decode()
        if landed_commit := _landed_commit_of_job_or_empty(
            mirror, now, cleared.onto or state.base, order.job, tree
        ):
            return LandedCommit(
                landed_commit,
                tree.decode(),
                branch,
                True,
                _base_of_landed_or_empty(mirror, landed_commit, cleared.onto),
            )
        if now and now == cleared.onto and checkout.commit_tree(store, now) == tree:
            # A delivery before pushed it; what came after that push, like opening a request, failed.
            return LandedCommit(now, tree.decode(), branch, True, cleared.onto)
        if now != cleared.onto:
            raise moved_refusal(order, mirror, (branch, cleared.onto, now), report)
        publish_large_files(order, mirror, remote, may, report)
        store.add_object(commit)
        report(f"{number[:7]} is pushed to {branch}")
        try:
            remote.push(mirror.repository, branch, cleared.onto, number, may.raise_if_stopped)
        except GitRefused as error:
            # The answer may be lost of a push that came through; or another one came first.
            now = remote.read_references().branch_commit(branch)
            if now:
                mirror.fetch_commits(remote, [now], report)
            if landed_commit := _landed_commit_of_job_or_empty(
                mirror, now, cleared.onto or state.base, order.job, tree
            ):
                return LandedCommit(
                    landed_commit,
                    tree.decode(),
                    branch,
                    True,
                    _base_of_landed_or_empty(mirror, landed_commit, cleared.onto),
                )
            if now != cleared.onto:
                raise moved_refusal(order, mirror, (branch, cleared.onto, now), report) from error
            raise
    return LandedCommit(number, tree.decode(), branch, False, cleared.onto)


def publish_large_files(
    order: DeliveryOrder, mirror: Mirror, remote: Remote, may: Permission, report: ProgressCallback
) -> None:
    """Send the large files first: a pointer that is published leads to something. :raises GitRefused: push_refused"""
    access, state = order.access, order.access.state
    large = LargeFiles(mirror, remote, state.base, report, fetch=access.fetch)
    large.publish(state.head, state.base, access.order.commit == SQUASH, may.find)
    may.raise_if_stopped()


def approved_tree_to_deliver(order: DeliveryOrder, mirror: Mirror) -> ObjectID:
    """The files that the task made. :raises GitRefused: not_approved, nothing_done"""
    state, store = order.access.state, mirror.repository.object_store
    if state.joined:
        raise GitRefused(
            "The branches that met have not been merged. Join them at a station before it.", NOT_APPROVED
        )
    if not state.head:
        raise GitRefused("No station has worked in the repository yet.", NOTHING_DONE)
    tree = checkout.commit_tree(store, state.head)
    # An empty commit on the branch would look like work that was done
    if tree == checkout.commit_tree(store, state.base):
        raise GitRefused("Nothing was changed, so there is nothing to deliver.", NOTHING_DONE)
    return tree


def delivery_commit(order: DeliveryOrder, cleared: DeliveryPermission, tree: ObjectID) -> Commit:
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
    text = commits.commit_message(subject if to_merge else order.title, "", trailer_values)
    # The time of the clearance, not of now: an attempt that is repeated makes the same commit
    return commits.new_commit(tree, parents, text, cleared.at)


def _base_of_landed_or_empty(mirror: Mirror, landed_commit: str, onto: str) -> str:
    """Return where the branch stood on which this commit of ours landed: "" where that was pushed anew."""
    git_object = mirror.repository[ObjectID(landed_commit.encode())]
    assert isinstance(git_object, Commit)
    return onto if onto.encode() in git_object.parents else ""


def _restarted_clearance(order: DeliveryOrder, cleared: DeliveryPermission, now: str) -> DeliveryPermission:
    """The branch of a task begins again where people deleted it, as hosts offer once a request was merged."""
    return cleared if order.to == MERGE or now else replace(cleared, onto="")


def moved_refusal(
    order: DeliveryOrder, mirror: Mirror, where: tuple[str, str, str], report: ProgressCallback
) -> GitRefused:
    """Return the refusal after a branch moved. `where`: branch, where it should stand, where it does. A base
    that moved is taken in by a new round; what others pushed to the branch of a task is for people."""
    branch, onto, now = where
    if order.to == MERGE:
        return BaseMoved(
            moved_message(branch, onto, now), now, _same_patch_tree_or_empty(order, mirror, now, report)
        )
    if not now:
        return GitRefused(f"{branch} was deleted while it was pushed to. Deliver again.", BRANCH_CHANGED)
    left = f"this task left it at {onto[:7]}" if onto else "this task has not pushed it yet"
    return GitRefused(
        f"{branch} is at {now[:7]} on the remote, which this task did not push: {left}. Nothing was pushed. "
        f"Keep what was added under another name, delete {branch} there, and deliver again.",
        BRANCH_CHANGED,
    )


def _same_patch_tree_or_empty(
    order: DeliveryOrder, mirror: Mirror, now: str, report: ProgressCallback
) -> str:
    """Return the tree of the approved change on the moved base, if it is the same patch and the delivery may
    continue with it; else ""."""
    # Only where the line says so: otherwise people look at what the moved base makes of it
    if order.rebase != SAME_PATCH or not now:
        return ""
    state = order.access.state
    try:
        tree = same_patch_tree(mirror, state.base, state.head, now)
    except NotTheSame as why:
        report(f"People are asked again: {why}")
        return ""
    report(f"The approved change is the same on {now[:7]}: it lands without people if its checks pass there")
    return tree


def _landed_commit_of_job_or_empty(mirror: Mirror, now: str, since: str, job: int, tree: ObjectID) -> str:
    """The commit of this job on the remote, at its end or below what others pushed since; "" where there is none."""
    if not now or now == since:
        return ""
    history = _commits_since(mirror, now, since)
    # An attempt before may have pushed and lost its answer, and others may have pushed upon it since
    return next((commit.id.decode() for commit in history if is_own_commit(commit, job, tree)), "")


def is_own_commit(commit: Commit, job: int, tree: ObjectID) -> bool:
    """Return whether Gateline made the commit for this job: its other contents may have changed since, like
    the title of the task."""
    trailer_values = message_trailers(commit.message.decode(errors="replace"))
    return (
        # Anybody can write such a trailer: author and tree have to be ours, too.
        commit.author == commit.committer == commits.COMMITTER
        and trailer_values.get(commits.DELIVERY) == [str(job)]
        and commit.tree == tree
    )


def _commits_since(mirror: Mirror, start: str, end: str) -> Iterator[Commit]:
    exclude = [ObjectID(end.encode())] if end and mirror.has_commit(end) else []
    walker = mirror.repository.get_walker(
        include=[ObjectID(start.encode())], exclude=exclude, max_entries=LOOKED_AT
    )
    yield from (entry.commit for entry in walker)


# Check whether an approved change is the same on a base that moved (law §15): the whole tree there is the new
# base and exactly the approved hunks, byte for byte, each with the lines around it that were displayed. A
# change that cannot be proved is not the same.


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
    before, ours, theirs = (
        trees.leaf_by_path_of_tree(store, checkout.commit_tree(store, sha)) for sha in (base, head, onto)
    )
    files, merger = _merged_files_and_merger(store, before, ours, theirs)
    _check_landing_is_as_approved(store, merger, (before, ours), (theirs, files))
    return trees.root_id_and_trees(files)[0].decode()


def _merged_files_and_merger(
    store: BaseObjectStore, before: Files, ours: Files, theirs: Files
) -> tuple[Files, Merger]:
    merger = Merger(store)
    files = merger.merge_and_collect_conflicts(before, ours, theirs, ("approved", "moved"))
    if merger.conflicts:
        raise NotTheSame(f"both changed {next(iter(merger.conflicts))}")
    return files, merger


def _check_landing_is_as_approved(
    store: BaseObjectStore, merger: Merger, approved: tuple[Files, Files], landing: tuple[Files, Files]
) -> None:
    changed = _changed_paths(*approved)
    if changed != _changed_paths(*landing):
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
        texts = [_text_lines(store, merger, path, leaf) for leaf in (was, now, onto, then)]
        if budget.is_spent:
            raise NotTheSame("the change is too large to compare")
        # A file that did not move on the base has the approved hunks.
        if (was, now) != (onto, then):
            _check_hunks_are_as_approved(path, texts, budget)


def _changed_paths(before: Files, after: Files) -> list[str]:
    return sorted(path for path in {*before, *after} if before.get(path) != after.get(path))


def _check_hunks_are_as_approved(path: str, texts: Sequence[Lines], budget: StepBudget) -> None:
    was, now, onto, then = texts
    hunks = _diff_hunks(was, now, budget)
    if hunks != _diff_hunks(onto, then, budget) or budget.is_spent:
        raise NotTheSame(f"what changes in {path} is not the same any more")
    for old, _new in hunks:
        if _occurrences_up_to_two(was, old) != 1 or _occurrences_up_to_two(onto, old) != 1:
            raise NotTheSame(f"what changes in {path} could be meant for more than one place")


def _diff_hunks(old: Lines, new: Lines, budget: StepBudget) -> list[tuple[Lines, Lines]]:
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
    return [(_lines_with_context(old, a, b), _lines_with_context(new, c, d)) for a, b, c, d in spans]


def _lines_with_context(lines: Lines, first: int, end: int) -> Lines:
    """Return the lines with those around them, and a mark where the file begins or ends there."""
    start, stop = first - AROUND, end + AROUND
    begun = [b""] if start < 0 else []
    ended = [b""] if stop > len(lines) else []
    return begun + lines[max(start, 0) : stop] + ended


def _occurrences_up_to_two(lines: Lines, part: Lines) -> int:
    """Count how often the part stands in the lines, up to 2."""
    # With the marks of `_lines_with_context` for the beginning and the end of a file
    padded = [b"", *lines, b""]
    count = 0
    for at in range(len(padded) - len(part) + 1):
        # The first line alone is compared at most places, which is cheaper than a slice at each
        if padded[at] == part[0] and padded[at : at + len(part)] == part:
            count += 1
            if count == 2:
                break
    return count


def _text_lines(store: BaseObjectStore, merger: Merger, path: str, leaf: Leaf | None) -> Lines:
    if leaf is None:
        return []
    if leaf[0] not in PLAIN:
        raise NotTheSame(f"{path} is no plain file")
    blob = merger.blobs.get(leaf[1]) or store[ObjectID(leaf[1])]
    text = isinstance(blob, Blob) and blob.raw_length() <= MOST_TEXT and b"\x00" not in blob.data
    if not isinstance(blob, Blob) or not text or parsed_pointer_or_none(blob.data) is not None:
        raise NotTheSame(f"{path} is no text that can be compared")
    return blob.data.splitlines(keepends=True)
