"""The workspace that a job starts from: what its own token left, and what the branches left that were joined into it
(law §7). Branches that run side by side do not see each other's files.

Files are merged as contexts are: each station's changes, in the order in which the stations were left."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import BigIntegerField, QuerySet

from pipelines.models import Job, Snapshot, Task, Token
from pipelines.models.plumbing.compiled_queries import compiled
from pipelines.queries import versions
from pipelines.queries.forks import fork_time
from pipelines.work.workspaces import manifest_digest

Entry = dict[str, Any]
Manifest = tuple[Entry, ...]


@dataclass(frozen=True)
class SnapshotHead:
    """A snapshot without its manifest. `began`: when its job was opened; `ended`: when it was reported on."""

    pk: int
    token: int
    began: datetime
    ended: datetime


def workspace_digest_and_manifest_or_none(job_id: int) -> tuple[str, Manifest] | None:
    """The digest and the manifest; None where nothing was left yet."""
    job = Job.objects.only("task_id", "token_id", "created_at").get(pk=job_id)
    return _build_trees(job.task_id).digest_and_manifest_at_or_none(job.token_id, job.created_at)


def ancestor_ids(first: int, above: Callable[[int], int | None]) -> list[int]:
    """Return the ids from this one on: what is above it, what is above that, and so on."""
    ids: list[int] = []
    current: int | None = first
    while current is not None:
        ids.append(current)
        current = above(current)
    return ids


def task_trees(task_id: int) -> WorkspaceTrees:
    """The trees of a task at any moment; what one look needs is read once."""
    return _build_trees(task_id)


def _build_trees(task_id: int) -> WorkspaceTrees:
    """Return what was left in a task, above what it began with.

    A retry at a later station begins with the files that the branch of the visit which it repeats had at
    the end of its task. At the first station it begins with nothing, as every task does: what the ended
    task left would be its own change, present there already. A fork begins with those of its moment.
    """
    task = _followed_task_query.first(task=task_id)
    assert task is not None
    base = None
    until = fork_time(task) if task.fork_event else task.follows and task.follows.ended_at
    if task.retry_of and until and not is_retry_from_first_station(task):
        base = _build_trees(task.retry_of.task_id).digest_and_manifest_at_or_none(
            task.retry_of.token_id, until
        )
    left = [SnapshotHead(*row) for row in _snapshot_rows(task=task_id) if row[-1]]
    tokens = {token.pk: token for token in Token.objects.filter(task=task_id).defer("wait")} if left else {}
    return WorkspaceTrees(tokens, left, base)


def is_retry_from_first_station(task: Task) -> bool:
    """True of a retry at the first station of its line."""
    if task.retry_of is None or task.fork_event:
        return False
    return task.retry_of.station == versions.parsed_line_by_version_id(task.pinned_id).start


@compiled(task=BigIntegerField())
def _followed_task_query(task: Any) -> QuerySet[Task]:
    return (
        Task.objects.only("retry_of", "follows", "pinned", "fork_event")
        .select_related("retry_of", "follows")
        .filter(pk=task)
    )


@compiled(task=BigIntegerField())
def _snapshot_rows(task: Any) -> QuerySet[Snapshot, tuple[Any, ...]]:
    rows = Snapshot.objects.filter(task=task, job__state=Job.State.DONE).order_by("job__ended_at", "job_id")
    return rows.values_list("pk", "job__token_id", "job__created_at", "job__ended_at")


class WorkspaceTrees:
    """The tokens of one task, and what they left, the oldest first. `base`: what the task began with."""

    def __init__(
        self, tokens: dict[int, Token], left: list[SnapshotHead], base: tuple[str, Manifest] | None = None
    ) -> None:
        self.tokens, self.left, self.base = tokens, left, base
        self._read: dict[int, tuple[str, Manifest]] = {}

    def digest_and_manifest_at_or_none(self, token: int, at: datetime) -> tuple[str, Manifest] | None:
        """Return the digest and manifest of the workspace that a token sees at a moment; None where nothing was
        left yet."""
        if not self.left:
            return self.base
        part = self._joined_tokens(token, at)
        own_snapshots = [
            snapshot for snapshot in self.left if snapshot.token in part and snapshot.ended <= at
        ]
        if not own_snapshots:
            return self.base
        # No branch was joined: the last snapshot holds all files, and nothing is merged
        if not any(self.tokens[snapshot.token].joined_id for snapshot in own_snapshots):
            return self._digest_and_manifest_of_snapshot(own_snapshots[-1])
        merged: Manifest = self.base[1] if self.base else ()
        # Law §7: each station's changes, in the order in which the stations were left
        for snapshot in own_snapshots:
            before = self.digest_and_manifest_at_or_none(snapshot.token, snapshot.began)
            merged = manifest_with_changes(
                merged, before[1] if before else (), self._digest_and_manifest_of_snapshot(snapshot)[1]
            )
        return manifest_digest(merged), merged

    def _joined_tokens(self, token: int, at: datetime) -> set[int]:
        """The token, those that it was forked from, and those that had been joined into one of them by then."""
        token_ids, grown = set(self._token_and_ancestors(token)), True
        # Until nothing is added: a branch may itself have had others joined into it
        while grown:
            more = {
                pk
                for other in self.tokens.values()
                if _was_joined_by(other, token_ids, at)
                for pk in self._token_and_ancestors(other.pk)
            }
            grown = not more <= token_ids
            token_ids |= more
        return token_ids

    def _token_and_ancestors(self, token: int) -> list[int]:
        return ancestor_ids(token, lambda pk: self.tokens[pk].parent_id)

    def _digest_and_manifest_of_snapshot(self, snapshot_head: SnapshotHead) -> tuple[str, Manifest]:
        if snapshot_head.pk not in self._read:
            snapshot = Snapshot.objects.get(pk=snapshot_head.pk)
            self._read[snapshot_head.pk] = snapshot.digest, tuple(snapshot.manifest)
        return self._read[snapshot_head.pk]


def _was_joined_by(token: Token, into: set[int], at: datetime) -> bool:
    return token.joined_id in into and token.ended_at is not None and token.ended_at <= at


def manifest_with_changes(onto: Manifest, before: Manifest, after: Manifest) -> Manifest:
    """`onto` with what was changed from `before` to `after`: removed or written."""
    was, now = _entries_by_path(before), _entries_by_path(after)
    merged = {path: entry for path, entry in _entries_by_path(onto).items() if path in now or path not in was}
    merged |= {path: entry for path, entry in now.items() if was.get(path) != entry}
    return _entries_with_their_folders(merged)


def _entries_by_path(manifest: Iterable[Entry]) -> dict[str, Entry]:
    return {str(entry["path"]): entry for entry in manifest}


def _entries_with_their_folders(entries: dict[str, Entry]) -> Manifest:
    """Every file in a folder: one that another branch removed is made again; what became a file has nothing in it."""
    sound_entries: dict[str, Entry] = {}
    for path in sorted(entries):
        parents = [path[:place] for place, letter in enumerate(path) if letter == "/"]
        if any(not entries.get(parent, {"folder": True}).get("folder") for parent in parents):
            continue
        for parent in parents:
            sound_entries.setdefault(
                parent, entries.get(parent, {"path": parent, "mode": 0o755, "folder": True})
            )
        sound_entries[path] = entries[path]
    return tuple(sound_entries[path] for path in sorted(sound_entries))
