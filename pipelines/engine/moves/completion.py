"""Ending one branch or a whole task, and closing everything that is still open then (house §3 I8)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from pipelines.engine.core import sampling
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.values import Actor, token_fields_for_event
from pipelines.engine.moves import escalations, releases
from pipelines.engine.moves.gates import close_visit
from pipelines.models import ENDED, Decision, Job, Status, Task, Token
from pipelines.ports import observers, queue
from pipelines.ports.queue_tasks import FOLLOW_UP
from pipelines.ports.terms import QUICK
from pipelines.queries import versions
from pipelines.routing.decide.effects import worst_position_status
from pipelines.routing.decide.transitions import CANCELLED, TokenEnd
from pipelines.routing.document.kinds.deliver import KIND as DELIVER

Who = Actor | str


@dataclass(frozen=True)
class Ending:
    """End of something: how, by whom and by what. `data`: for the event."""

    ended: TokenEnd
    actor: Who
    trigger: str
    decision: Decision | None = None
    data: dict[str, Any] = field(default_factory=dict)


def end_token(batch: Batch, task: Task, token: Token, ending: Ending) -> None:
    """An end inside a branch ends that branch only; the task ends when all have ended (law §7). `abort` and cancelling
    end the task with all its branches: open jobs and gates are closed."""
    if ending.ended.everything:
        closed = batch.living_tokens(task)
        for living_token in closed:
            # Before the token ends: by its status its open visits are found
            close_job_and_visits_of_token(batch, task, living_token, ending.actor, why=ending.ended.kind)
            _mark_ended(batch, living_token, ending.ended)
    else:
        _mark_ended(batch, token, ending.ended)
        closed = [token, *_end_forks_without_living_branch(batch, token)]
    _append_end_events(batch, task, token, closed, ending)


def cancel_task(batch: Batch, task: Task, actor: Who, reason: str) -> None:
    """End an open task and everything that is open in it; never routed (law §5)."""
    # Also before its first decision, which whoever cancels may have worked out.
    sampling.keep_request_drawn_until_approved(
        task, sampling.draw_result_by_gate(versions.parsed_line_by_version_id(task.pinned_id), task, {})
    )
    how = Ending(replace(CANCELLED, reason=reason), actor, "cancel")
    # Whichever position it is: a cancellation ends all of them.
    end_token(batch, task, batch.living_tokens(task)[0], how)


def close_job_and_visits_of_token(batch: Batch, task: Task, token: Token, actor: Who, why: str) -> None:
    """Close what is open at a token that ends: its job becomes cancelled, its gate visits get no decision."""
    job = batch.open_job_or_none(token)
    if job:
        store_outcome_and_end_job(batch, job, {"result": "cancelled", "reason": "manual"}, str(actor))
    # Only these have open visits (house §3 I6): the others need no query
    if token.status == Status.AWAITING_REVIEW:
        for visit in batch.open_visits_of_token(token):
            close_visit(batch, task, visit, actor, why)


def store_outcome_and_end_job(batch: Batch, job: Job, outcome: dict[str, Any], by: str) -> None:
    """Finish the job with this outcome, unchanged, and end its lease."""
    # 200: the length of the column
    job.state, job.outcome, job.ended_at, job.reported_by = Job.State.DONE, outcome, batch.now, by[:200]
    job.result = str(outcome.get("result") or "")
    batch.mark_job_changed(job)
    # Work of people and of the clock has none
    if job.lease_key:
        batch.drop_lease(job)
    if job.kind == DELIVER.key:
        batch.emit(observers.DeliveryEnded(job.task_id, job.pk, batch.now))
    # law §8: the place is free as soon as the job is over, for whoever waits for the agent
    batch.agents.give_back_agent_place(batch.tasks[job.task_id], job)


def _mark_ended(batch: Batch, token: Token, ended: TokenEnd) -> None:
    token.status, token.end, token.error = ended.kind, ended.end, ended.error
    token.ended_at, token.wait, token.forked = batch.now, {}, False
    batch.mark_token_changed(token)


def _end_forks_without_living_branch(batch: Batch, token: Token) -> list[Token]:
    """End forked tokens without a living branch as their worst branch ended, from the inside out. Branches accounted
    for by a join do not count."""
    ended = []
    while token.parent_id is not None:
        parent = batch.tokens[token.parent_id]
        own = parent.wait.get("branches")
        children = parent.children.all() if own is None else parent.children.filter(pk__in=own)
        branches = [_token_as_changed_in_batch(batch, child) for child in children]
        if any(branch.status not in ENDED for branch in branches):
            break
        worst = _worst_ended_token(branches)
        _mark_ended(batch, parent, TokenEnd(worst.status, worst.end, worst.error))
        ended.append(parent)
        token = parent
    return ended


def _token_as_changed_in_batch(batch: Batch, token: Token) -> Token:
    """The row as changed in this transaction, not as stored."""
    return batch.tokens.get(token.pk, token)


def _worst_ended_token(tokens: list[Token]) -> Token:
    status = worst_position_status(token.status for token in tokens)
    return next(token for token in tokens if token.status == status)


def _append_end_events(batch: Batch, task: Task, token: Token, closed: list[Token], ending: Ending) -> None:
    """The event of the end; and when no position is left, the task's own."""
    over = not batch.living_tokens(task)
    if over:
        # The root ends with the last position, and the task as the root
        root = next(closed_token for closed_token in closed if closed_token.parent_id is None)
        task.status, task.end, task.error, task.reason = (
            root.status,
            root.end,
            root.error,
            ending.ended.reason,
        )
        task.ended_at = batch.now
        batch.mark_task_changed(task)
        # Nothing of a task that has ended stays open (house §3 I8), and nobody waits for it any longer
        escalations.close_all_escalations(batch, task, ending.actor)
        releases.release_tasks_waiting_for(batch, task, ending.actor)
    batch.append_event(
        task,
        "token.ended",
        ending.actor,
        token=token,
        source=token.station,
        target=token.end,
        trigger=ending.trigger,
        decision=ending.decision,
        tokens=[token_fields_for_event(closed_token) for closed_token in closed],
        task={"end": task.end, "error": task.error, "reason": task.reason} if over else None,
        reason=ending.ended.reason,
        **ending.data,
    )
    if over:
        reached = versions.parsed_line_by_version_id(task.pinned_id).ends_by_key.get(task.end)
        if reached is not None and reached.follow_up:
            # house §2: the queue is in the same database, so a rollback drops this, too.
            queue.enqueue_queue_jobs(FOLLOW_UP, QUICK, {"task_id": task.pk})
        batch.emit(observers.TaskEnded(task.pk, task.end, task.status, batch.now))
