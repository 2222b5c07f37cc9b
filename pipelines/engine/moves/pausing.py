"""Holding work until something about its task is settled: an unanswered escalation, a deadlock, or a dependency."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipelines.engine.core.batch import Batch
from pipelines.engine.core.expected_times import drop_late_due_time, set_late_due_time
from pipelines.engine.core.unassigned import UNLEASED, start_job_without_worker, undo_start_without_worker
from pipelines.engine.core.values import Actor, job_fields_for_event
from pipelines.models import Job, Status, Task, Token
from pipelines.routing.decide.effects import Hold, flatten_holds, hold_until_circle_is_resolved, nest_holds

WORKING = (Status.QUEUED, Status.RUNNING)


def try_to_hold_token_with_open_work(
    batch: Batch, task: Task, token: Token, actor: Actor | str, by: str, **wait: Any
) -> bool:
    """Hold a position that has work to do. A running job is taken back without counting an attempt. `by`: the id of
    what holds it and releases it later; `was`: whether its job had started. Returns whether there was anything to
    hold."""
    job = batch.open_job_or_none(token)
    if token.status not in WORKING or job is None:
        return False
    hold_token_and_its_job(
        batch, task, token, job, actor, {"paused_by": by, "was": str(token.status), **wait}
    )
    return True


def add_hold(batch: Batch, task: Task, token: Token, actor: Actor | str, wait: Hold) -> None:
    """Add a hold to a position that may already be held: it continues when both are released."""
    job = batch.open_job_or_none(token)
    if job is None:
        return
    if token.status in WORKING:
        hold_token_and_its_job(batch, task, token, job, actor, wait)
    elif token.status == Status.HELD and wait not in flatten_holds(token.wait):
        token.wait = nest_holds([*flatten_holds(token.wait), wait])
        _record_hold_event(batch, task, token, job, "token.waits", actor, "pause")


def hold_token_and_its_job(
    batch: Batch, task: Task, token: Token, job: Job, actor: Actor | str, wait: Hold
) -> None:
    """Hold the token and its job; `wait` shows what releases it."""
    if job.state == Job.State.RUNNING:
        # Nobody works at it: only its time is taken back, and set anew when it goes on
        if job.kind in UNLEASED:
            undo_start_without_worker(batch, task, job)
        elif job.lease_key:
            batch.drop_lease(job, unreported=True)
        # The expected time is one of working, not of being held
        drop_late_due_time(batch, task, token)
        job.state, job.lease_key, job.worker_id, job.started_at = Job.State.QUEUED, None, None, None
        batch.mark_job_changed(job)
    token.status, token.wait = Status.HELD, wait
    _record_hold_event(batch, task, token, job, "token.waits", actor, "pause")


def release_matching_holds(
    batch: Batch,
    task: Task,
    token: Token,
    actor: Actor | str,
    over: Callable[[Hold], bool],
    *,
    feedback: str = "",
    trigger: str = "resume",
) -> None:
    """Release the holds for which `over` is true. The position continues unless something else holds it. `feedback`:
    passed to its job. Does nothing if none of them held it."""
    job, waits = batch.open_job_or_none(token), flatten_holds(token.wait)
    left = [wait for wait in waits if not over(wait)]
    if job is None or token.status != Status.HELD or len(left) == len(waits):
        return
    # law §8, §17: nothing begins that something else held when its circle was found, or when it was paused
    left = left or [
        *(hold_until_circle_is_resolved(pk) for pk in batch.circles.get(task.pk, ())),
        *(pause.hold_by_this_pause for pause in batch.pauses_in_force_at(task.pk, token.station)),
    ]
    if feedback:
        job.feedback = feedback
        # A batch does not write this column of a job that was there before.
        Job.objects.filter(pk=job.pk).update(feedback=feedback)
    token.wait = nest_holds(left)
    if left:
        _record_hold_event(batch, task, token, job, "token.waits", actor, trigger)
        return
    # No worker comes for it: it begins at once, and a wait with its full time
    if job.kind in UNLEASED:
        start_job_without_worker(batch, task, job)
        set_late_due_time(batch, task, token, job)
        token.status = Status.RUNNING
        batch.mark_job_changed(job)
    else:
        token.status = Status.QUEUED
        batch.add_ticket(token)
    _record_hold_event(batch, task, token, job, "token.released", actor, trigger)


def is_hold_paused_by(pk: object) -> Callable[[Hold], bool]:
    return lambda wait: wait.get("paused_by") == str(pk)


def _record_hold_event(
    batch: Batch, task: Task, token: Token, job: Job, kind: str, actor: Actor | str, trigger: str
) -> None:
    batch.record_token_stays(
        task, token, kind, actor, trigger, wait=token.wait, job=job_fields_for_event(job)
    )
