"""State of a task's branch in its repository, as one of its tokens sees it: after what its own visits
committed, those of the tokens that it was forked from, and of the branches that were joined into it (law
§15)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import BigIntegerField, QuerySet

from pipelines.models import Delivery, Event, Job, Task, Token, VisitCommit
from pipelines.models.plumbing.compiled_queries import compiled
from pipelines.queries import versions
from pipelines.queries.forks import fork_time
from pipelines.work.spec.repository import GitBranch, GitState
from pipelines.work.transport.local.workspace_history import ancestor_ids, is_retry_from_first_station


def branch_state_before(job: Job) -> GitState:
    """`job` with its task loaded."""
    return BranchStates(job.task).state_at(job.token_id, job.created_at, job.created_at)


def branch_state_after(job: Job) -> GitState:
    """Return the state after a job that was reported."""
    return BranchStates(job.task).state_at(job.token_id, job.ended_at or job.created_at, job.created_at)


def token_and_ancestors(token_id: int) -> list[int]:
    """The token and those that it was forked from."""
    parents = Token.objects.values_list("parent_id", flat=True)
    return ancestor_ids(token_id, lambda pk: parents.get(pk=pk))


class BranchStates:
    """Branch states of one task; what one look needs is read once."""

    def __init__(self, task: Task) -> None:
        self._task = task

    def state_at(self, token: int, moment: datetime | None = None, begun: datetime | None = None) -> GitState:
        """Return the state after what was reported by `moment`, and after the joins by `begun`, when the last
        visit began; None: all."""
        return self._state_after(
            token, moment, sum(begun is None or join.at <= begun for join in self._join_events)
        )

    def base_entries_of_changed_files_or_none(self, token: int, moment: datetime) -> dict[str, Any] | None:
        """{path: its entry at the base, or None} of what this token had changed since the base by then; None where
        nothing was committed."""
        if not self._commits_of_task:
            return None
        state = self.state_at(token, moment, moment)
        heads = {branch.head for branch in state.branches} if state.joined else {state.head}
        entries_by_head = {
            row.head: row.before
            for row in self._commits_of_task
            if row.head in heads and row.base == state.base
        }
        return (
            {path: entry for entries in entries_by_head.values() for path, entry in entries.items()}
            if entries_by_head
            else None
        )

    @cached_property
    def _parent_of_tokens(self) -> dict[int, int | None]:
        return dict(Token.objects.filter(task=self._task).values_list("pk", "parent_id"))

    @cached_property
    def _commits_of_task(self) -> list[VisitCommit]:
        return _task_commits(task=self._task.pk)

    @cached_property
    def _join_events(self) -> list[Event]:
        """Joins of branches, the oldest first."""
        return list(Event.objects.filter(task=self._task, kind="token.joined").order_by("seq"))

    @cached_property
    def _deliveries_with_moved_base(self) -> list[tuple[int, int]]:
        """Deliveries that found the base elsewhere: (token, job)."""
        deliveries = Delivery.objects.filter(task=self._task, moved=True)
        return list(deliveries.values_list("job__token_id", "job_id"))

    @cached_property
    def _initial_state(self) -> GitState:
        """State that the task begins with. A retry begins where the visit that it repeats ended, and a fork where its
        position stood at the moment, on a branch of its own; at the first station a retry begins from the base."""
        repeated = self._task.retry_of
        if repeated is None or is_retry_from_first_station(self._task):
            return GitState()
        moment = fork_time(self._task) if self._task.fork_event else None
        state = BranchStates(repeated.task).state_at(repeated.token_id, moment, moment)
        return replace(state, branch="", moved=False)

    def _token_and_ancestors(self, token: int) -> list[int]:
        return ancestor_ids(token, self._parent_of_tokens.__getitem__)

    def _state_after(self, token: int, moment: datetime | None, joins: int) -> GitState:
        """Return the state after the first `joins` joins at most."""
        tokens = self._token_and_ancestors(token)
        rows = [
            row
            for row in self._commits_of_task
            if row.job.token_id in tokens and _is_reported_by(row, moment)
        ]
        last = rows[-1] if rows else None
        join_index = self._index_of_last_join_or_none(tokens, joins)
        if join_index is not None and (last is None or self._join_events[join_index].at >= _end_time(last)):
            return self._state_at_join(join_index)
        if last is None:
            state = self._initial_state
        else:
            state = GitState(last.branch, last.base_branch, last.base, last.head, last.tree)
        # What a delivery found before the last commit is settled by that
        since = last.job_id if last else 0
        moved = any(token_id in tokens and job > since for token_id, job in self._deliveries_with_moved_base)
        return replace(state, packs=self._pack_names_reported_by(moment), moved=moved)

    def _index_of_last_join_or_none(self, tokens: Sequence[int], joins: int) -> int | None:
        """Return the index of the last join of branches that became one of these tokens."""
        indexes = (index for index in reversed(range(joins)) if self._join_events[index].token_id in tokens)
        return next(indexes, None)

    def _state_at_join(self, index: int) -> GitState:
        """Return the state where branches met. If only one of them changed something and passed, it goes on;
        more than one is for a worker to merge."""
        event = self._join_events[index]
        merged = [int(token_id) for token_id in event.data["merged"]]
        before = self._state_after(self._token_that_forked(event, merged), event.at, index)
        ends = {token_id: self._state_after(token_id, event.at, index) for token_id in merged}
        changed = {
            token_id: state
            for token_id, state in ends.items()
            if _key_of_same_files(state) != _key_of_same_files(before)
        }
        passed = [changed[token_id] for token_id in event.data.get("passed", merged) if token_id in changed]
        states = {_key_of_same_files(state): state for state in passed}
        if len(states) < 2 and states.keys() == {_key_of_same_files(state) for state in changed.values()}:
            return replace(next(iter(states.values()), before), packs=self._pack_names_reported_by(event.at))
        branches = {
            branch.head: branch for state in states.values() for branch in self._branches_of_state(state)
        }
        # Nothing was committed before the fork: then one of the branches tells the base
        known = before if before.head else next(iter(states.values()), before)
        return replace(
            before,
            branch=known.branch,
            base_branch=known.base_branch,
            base=known.base,
            # There is no tree of all of them until a station has merged them
            tree="",
            packs=self._pack_names_reported_by(event.at),
            joined=True,
            branches=tuple(branches.values()),
        )

    def _token_that_forked(self, event: Event, merged: Sequence[int]) -> int:
        """The token whose branches met: the one that they became, or the one above it."""
        assert event.token_id is not None
        above = {ancestor for token in merged for ancestor in self._token_and_ancestors(token)[1:]}
        parent = self._parent_of_tokens[event.token_id]
        return event.token_id if event.token_id in above or parent is None else parent

    def _branches_of_state(self, state: GitState) -> tuple[GitBranch, ...]:
        if state.joined:
            return state.branches
        row = next(candidate for candidate in self._commits_of_task if candidate.head == state.head)
        line = versions.parsed_line_by_version_id(row.job.pinned_id)
        station = line.stations_by_key.get(row.job.station)
        return (GitBranch(station.name if station else row.job.station, state.base, state.head),)

    def _pack_names_reported_by(self, moment: datetime | None) -> tuple[str, ...]:
        packs = [row.pack.name for row in self._commits_of_task if row.pack and _is_reported_by(row, moment)]
        return tuple(dict.fromkeys((*self._initial_state.packs, *packs)))


def _key_of_same_files(state: GitState) -> tuple[str, tuple[str, ...]]:
    """Two states with the same have the same files."""
    return state.head, tuple(branch.head for branch in state.branches)


def _is_reported_by(row: VisitCommit, moment: datetime | None) -> bool:
    return moment is None or _end_time(row) <= moment


def _end_time(row: VisitCommit) -> datetime:
    return row.job.ended_at or row.created_at


@compiled(task=BigIntegerField())
def _task_commits(task: Any) -> QuerySet[VisitCommit]:
    rows = VisitCommit.objects.filter(task=task, job__state=Job.State.DONE)
    return rows.select_related("pack", "job").order_by("job__ended_at", "job_id")
