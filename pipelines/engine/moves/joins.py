"""Tokens that wait at a join, and how they merge (law §7). `routing/decide/branch_joins` decides which and when; this
module reads the facts and writes the consequences."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from pipelines.engine.core.batch import Batch
from pipelines.engine.core.decision_context import DecisionContext, stations_of_other_tokens_fact
from pipelines.engine.core.values import (
    ENGINE,
    Actor,
    add_counts_to_task,
    job_fields_for_event,
    token_fields_for_event,
)
from pipelines.engine.moves import deadlock_records, escalations
from pipelines.engine.moves.job_creation import create_job_of_current_station
from pipelines.engine.statements import CONTEXT_WRITES, TOKENS_OF_TASK
from pipelines.models import ENDED, Job, Status, Task, Token
from pipelines.models.plumbing import bulk_rows
from pipelines.models.plumbing.compiled_queries import Statement, execute_all_and_fetch
from pipelines.ports import observers
from pipelines.queries import versions
from pipelines.queries.branches import living_branches
from pipelines.routing.basics.outcome import derived_outcome, read_outcome
from pipelines.routing.decide.branch_joins.branches import Arrival, Write
from pipelines.routing.decide.branch_joins.context_merge import (
    contradicting_keys,
    contradicting_values,
    writing_stations,
)
from pipelines.routing.decide.branch_joins.join_decision import (
    PASS,
    Merge,
    accounted_branches_and_replaces_fork,
    first_decidable_merge_or_none,
)
from pipelines.routing.decide.effects import Stay
from pipelines.routing.decide.transitions import Transition, join_transition
from pipelines.routing.document.line import ParsedLine

# Handed in: `decision_application`, which routes, imports this module
Route = Callable[[DecisionContext], None]
"""Decides the outcome of the context's job and applies the decision."""


def wait_at_join(context: DecisionContext, token: Token, arrival: Arrival) -> None:
    """Make the token, now at a join station, wait there for its siblings."""
    join = {
        "from": arrival.source,
        "standing": arrival.standing,
        "job": context.job.pk,
        "order": arrival.order,
    }
    failed = {"failure_type": arrival.failure_type} if arrival.failure_type else {}
    token.wait, token.status = {"join": {**join, **failed}}, Status.QUEUED


def merge_ready_joins(
    batch: Batch,
    task: Task,
    actor: Actor | str,
    trigger: str,
    route: Route,
    context: DecisionContext | None = None,
) -> None:
    """Merge at every join that can be decided now. Each merge may make another one decidable, so repeat until none
    is. `context`: what made them decidable; whoever reported it may go on with what follows."""
    while any(token.waits_at_join for token in batch.living_tokens(task)):
        line = versions.parsed_line_by_version_id(task.pinned_id)
        merge = first_decidable_merge_or_none(line, living_branches(batch.living_tokens(task)))
        if merge is None:
            return
        JoinMerge(batch, task, line, merge, actor, trigger, context).merge_branches(route)


class JoinMerge:
    """Merge of exactly the tokens that were delivered."""

    def __init__(
        self,
        batch: Batch,
        task: Task,
        line: ParsedLine,
        merge: Merge,
        actor: Actor | str,
        trigger: str,
        context: DecisionContext | None,
    ) -> None:
        self.batch, self.task, self.line, self.merge = batch, task, line, merge
        self.actor, self.trigger, self.context = actor, trigger, context
        self.count: dict[str, Mapping[str, int]] = {}
        self.touched: dict[int, Token] = {}
        self.arrived = [batch.tokens[pk] for pk in merge.arrived]

    @cached_property
    def all_tokens_by_id(self) -> dict[int, Token]:
        """Every token of the task. Those that live are in the batch: only what has ended has to be read."""
        [stored] = execute_all_and_fetch([Statement(TOKENS_OF_TASK, [self.task.pk])])
        family = [bulk_rows.row_from_json(Token, json.loads(row)) for (row,) in stored]
        return {token.pk: token for token in family} | {
            pk: token for pk, token in self.batch.tokens.items() if token.task_id == self.task.pk
        }

    def merge_branches(self, route: Route) -> None:
        # The context only grows: where it is empty, no branch wrote anything.
        writes = self._context_writes_by_token() if self.task.context and len(self.arrived) > 1 else []
        keys = contradicting_keys(writes)
        token, closed = self._merged_token_and_closed_ones()
        # After the merge: what became one is not in parallel with itself
        others = stations_of_other_tokens_fact(self.batch, self.task, token, self.line).get("beside", ())
        change = join_transition(
            self.merge, self.line, contradicting_values(keys, self.merge.sources, writes), others
        )
        self._place_at_join(token, change)
        job: Job | None = None
        if change.stays is not None:
            self._hold_merged_token(token, change.stays, writing_stations(keys, writes))
        else:
            # law §7: passed, the work begins; otherwise the station is routed without running it.
            job = (
                self._open_join_job(token)
                if self.merge.verdict == PASS
                else self._record_visit_without_run(token)
            )
        # Before it is routed, so that the event of the join precedes that of the move which follows
        self._record_merge_event(token, closed, job, keys)
        if job is not None and self.merge.verdict != PASS:
            # The join is a cause of its own: what made it complete has its decision already (law §9).
            cause, trigger = f"join:{job.pk}", f"join:{self.merge.station}"
            route(DecisionContext(self.batch, self.task, token, job, ENGINE, cause, trigger))

    # Many become one

    def _merged_token_and_closed_ones(self) -> tuple[Token, list[Token]]:
        """The merged token and those it closes. It replaces the forked token once no sibling is living and none has
        ended in a way that still affects the task's end; otherwise it stays a sibling."""
        over = (
            []
            if self._do_all_branches_merge_here()
            else [
                member for member in self.all_tokens_by_id.values() if self._did_branch_end_by_itself(member)
            ]
        )
        ends = {member.pk: (member.station, member.status) for member in over}
        counted, takes_place = accounted_branches_and_replaces_fork(self.line, self.merge, ends)
        emptied = [self.batch.tokens[pk] for pk in self.merge.emptied]
        if self.merge.fork is None:
            token = self.arrived[0]
        elif takes_place:
            token = self.batch.tokens[self.merge.fork.id]
        else:
            # Other branches of the fork live on, so that the forked token cannot be taken
            token = self.batch.add_token(self._new_sibling_token())
            self._replace_branches_of_fork(
                (*self.arrived, *emptied, *(member for member in over if member.pk in counted)), token
            )
        closed = [member for member in (*self.arrived, *emptied) if member is not token]
        for member in closed:
            self._close_into(member, token)
        return token, closed

    def _do_all_branches_merge_here(self) -> bool:
        """Return whether every branch of this fork merges here, so that none ended by itself."""
        fork = self.batch.tokens[self.merge.fork.id] if self.merge.fork else None
        return fork is not None and set(fork.wait.get("branches", ())) == set(self.merge.arrived)

    def _did_branch_end_by_itself(self, token: Token) -> bool:
        """Return whether a branch of this fork ended by itself, so that its end still affects the fork's."""
        if token.status not in ENDED or token.joined_id is not None or token.parent_id is None:
            return False
        parent = self.all_tokens_by_id[token.parent_id]
        return (
            parent.forked
            and self._is_descendant_of_fork(token)
            and token.pk in parent.wait.get("branches", ())
        )

    def _is_descendant_of_fork(self, token: Token) -> bool:
        while token.parent_id is not None:
            if self.merge.fork and token.parent_id == self.merge.fork.id:
                return True
            token = self.all_tokens_by_id[token.parent_id]
        return False

    def _replace_branches_of_fork(self, removed_tokens: Iterable[Token], token: Token) -> None:
        """Among the branches by which their fork will end."""
        assert token.parent_id is not None
        for member in removed_tokens:
            assert member.parent_id is not None
            self._update_branches(self.all_tokens_by_id[member.parent_id], removed_token_id=member.pk)
        self._update_branches(self.all_tokens_by_id[token.parent_id], plus=token.pk)

    def _update_branches(self, fork: Token, removed_token_id: int = 0, plus: int = 0) -> None:
        remaining = [pk for pk in fork.wait.get("branches", ()) if pk != removed_token_id]
        if fork.status not in ENDED:
            self.touched[fork.pk] = fork
            fork.wait = {**fork.wait, "branches": [*remaining, plus] if plus else remaining}
            self.batch.mark_token_changed(fork)

    def _new_sibling_token(self) -> Token:
        assert self.merge.fork is not None
        now, parent = self.batch.now, self.all_tokens_by_id[self.merge.fork.id]
        return Token(
            task=self.task,
            parent=parent,
            station=self.merge.station,
            version=0,
            entered_at=now,
            changed_at=now,
        )

    def _close_into(self, token: Token, into: Token) -> None:
        """Close the token: it continues as part of the merged one, whose end counts."""
        token.joined_id = into.pk
        token.status, token.ended_at = Status.COMPLETED, self.batch.now
        token.wait, token.error, token.forked = {}, "", False
        self.batch.mark_token_changed(token)

    # What the join station does

    def _place_at_join(self, token: Token, change: Transition) -> None:
        """Place the merged token at the join, with the last arriving branch as its origin."""
        token.station, token.origin = self.merge.station, self.merge.sources[-1]
        token.forked, token.wait, token.error, token.signal_reworks = False, {}, "", 0
        token.status, token.entered_at = Status.QUEUED, self.batch.now
        self.count = add_counts_to_task(self.task, change.count)

    def _open_join_job(self, token: Token) -> Job:
        offer, after = (
            (self.context.offer, self.context.job_whose_worker_reported) if self.context else (None, None)
        )
        return create_job_of_current_station(self.batch, self.task, token, offer=offer, after=after)

    def _hold_merged_token(self, token: Token, where: Stay, stations: Iterable[str]) -> None:
        """Keep the merged token from beginning; somebody is asked where branches contradict each other."""
        wait, token.status = where.wait, where.status
        if wait.get("trigger"):
            reason = (
                f"{', '.join(self.merge.sources)} wrote different values under {', '.join(wait['keys'])}."
            )
            opened = escalations.open_escalation(
                self.batch, self.task, self.line, wait["trigger"], self.actor, token=token, reason=reason
            )
            deadlock_records.pause_agents_of_contradiction(self.batch, opened, dict.fromkeys(stations, token))
            wait = {**wait, "escalation": str(opened.pk)}
        token.wait, token.error = wait, where.error
        self.batch.emit(
            observers.TaskWaits(self.task.pk, token.pk, where.status, where.error, self.batch.now)
        )

    def _record_visit_without_run(self, token: Token) -> Job:
        """Record a visit of the join station without running it: the outcome is the join's."""
        station, outcome = self.line.station(token.station), self.merge.outcome()
        job = Job(
            id=self.batch.next_job_id(),
            task=self.task,
            token=token,
            pinned_id=self.task.pinned_id,
            station=station.key,
            kind=station.kind,
            visit=self.task.visits[station.key],
            state=Job.State.DONE,
            outcome=outcome,
            result=derived_outcome(read_outcome(outcome)).result,
            summary=self.merge.sentence[:2000],
            reported_by=str(ENGINE),
            created_at=self.batch.now,
            ended_at=self.batch.now,
        )
        self.batch.add_job(job)
        return job

    def _record_merge_event(
        self, token: Token, closed: list[Token], job: Job | None, keys: tuple[str, ...]
    ) -> None:
        self.batch.mark_token_changed(token)
        changed_tokens = self.touched | {member.pk: member for member in closed}
        self.batch.append_event(
            self.task,
            "token.joined",
            self.actor,
            token=token,
            # The column has 64 characters; `join` has every branch.
            source=",".join(dict.fromkeys(self.merge.sources))[:64],
            target=token.station,
            trigger=self.trigger,
            tokens=[
                token_fields_for_event(member) for member in ({token.pk: token} | changed_tokens).values()
            ],
            merged=list(self.merge.arrived),
            passed=list(self.merge.passed),
            join=self.merge.to_dict(),
            contradictions=list(keys),
            wait=token.wait,
            job=job_fields_for_event(job) if job else None,
            count=self.count,
        )

    # What the branches wrote

    def _context_writes_by_token(self) -> list[list[Write]]:
        """Return for each arrived token what it put into the context since the fork, and what was joined into
        it."""
        own = [self._joined_token_ids(token) for token in self.arrived]
        every = {pk for part in own for pk in part}
        [stored] = execute_all_and_fetch([Statement(CONTEXT_WRITES, [self.task.pk, list(every)])])
        writes = [(pk, seq, json.loads(values), source) for pk, seq, values, source in stored]
        # What this transaction wrote is not stored yet
        writes += [
            (e.token_id, e.seq, e.data["context"], e.source)
            for e in self.batch.events_of_this_transaction(self.task)
            if "context" in e.data
        ]
        return [[Write(*write) for pk, *write in writes if pk in part] for part in own]

    def _joined_token_ids(self, token: Token) -> set[int]:
        # Until nothing comes to it: what was joined into one of them may itself be a join.
        token_ids, grown = set(self._ids_up_to_fork(token)), True
        while grown:
            more = {
                pk
                for member in self.all_tokens_by_id.values()
                if member.joined_id in token_ids and member.pk not in token_ids
                for pk in self._ids_up_to_fork(member)
            }
            grown = not more <= token_ids
            token_ids |= more
        return token_ids

    def _ids_up_to_fork(self, token: Token) -> Iterable[int]:
        """The token and the forks above it, below the one whose branches meet."""
        fork = self.merge.fork.id if self.merge.fork else None
        while token.pk != fork:
            yield token.pk
            if token.parent_id is None:
                return
            token = self.all_tokens_by_id[token.parent_id]
