"""Work that is held while something about its task is cleared up: an escalation that was not answered, a deadlock, a
task that it depends on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipelines.engine.core.batch import Batch
from pipelines.engine.core.expected_times import unwatch, watch
from pipelines.engine.core.holds import Wait, each_of, joined
from pipelines.engine.core.state import job_ref
from pipelines.engine.core.unassigned import UNLEASED, begin, unbegin
from pipelines.engine.core.values import Actor
from pipelines.models import Job, Status, Task, Token

WORKING = (Status.QUEUED, Status.RUNNING)


def pause(batch: Batch, task: Task, token: Token, actor: Actor | str, by: str, **wait: Any) -> bool:
    """Hold a position that has work to do; a running job is taken back, and no attempt is counted. `by`: the id of
    what holds it, and lets it go again; `was` tells whether its job had begun. Answers whether there was anything."""
    job = batch.open_job(token)
    if token.status not in WORKING or job is None:
        return False
    hold(batch, task, token, job, actor, {"paused_by": by, "was": str(token.status), **wait})
    return True


def hold_besides(batch: Batch, task: Task, token: Token, actor: Actor | str, wait: Wait) -> None:
    """Hold it, whatever holds it already: it goes on when both have let it go."""
    job = batch.open_job(token)
    if job is None:
        return
    if token.status in WORKING:
        hold(batch, task, token, job, actor, wait)
    elif token.status == Status.HELD and wait not in each_of(token.wait):
        token.wait = joined([*each_of(token.wait), wait])
        _tell(batch, task, token, job, "token.waits", actor, "pause")


def hold(batch: Batch, task: Task, token: Token, job: Job, actor: Actor | str, wait: Wait) -> None:
    """Its job waits, too; `wait` shows what lets it go."""
    if job.state == Job.State.RUNNING:
        if job.kind in UNLEASED:
            unbegin(batch, task, job)
        elif job.lease_key:
            batch.drop_lease(job)
        unwatch(batch, task, token)
        job.state, job.lease_key, job.worker_id, job.started_at = Job.State.QUEUED, None, None, None
        batch.job_changed(job)
    token.status, token.wait = Status.HELD, wait
    _tell(batch, task, token, job, "token.waits", actor, "pause")


def let_go(
    batch: Batch,
    task: Task,
    token: Token,
    actor: Actor | str,
    over: Callable[[Wait], bool],
    *,
    feedback: str = "",
    trigger: str = "resume",
) -> None:
    """What held it, of which `over` tells, does so no more: it goes on, unless something else holds it. `feedback`:
    what its job is told besides. Nothing, where none of it held it."""
    job, waits = batch.open_job(token), each_of(token.wait)
    left = [each for each in waits if not over(each)]
    if job is None or token.status != Status.HELD or len(left) == len(waits):
        return
    if feedback:
        job.feedback = feedback
        Job.objects.filter(pk=job.pk).update(feedback=feedback)
    token.wait = joined(left)
    if left:
        _tell(batch, task, token, job, "token.waits", actor, trigger)
        return
    if job.kind in UNLEASED:
        begin(batch, task, job)
        watch(batch, task, token, job)
        token.status = Status.RUNNING
        batch.job_changed(job)
    else:
        token.status = Status.QUEUED
        batch.ticket(token)
    _tell(batch, task, token, job, "token.released", actor, trigger)


def is_paused_by(pk: object) -> Callable[[Wait], bool]:
    return lambda wait: wait.get("paused_by") == str(pk)


def _tell(
    batch: Batch, task: Task, token: Token, job: Job, kind: str, actor: Actor | str, trigger: str
) -> None:
    batch.stays(task, token, kind, actor, trigger, wait=token.wait, job=job_ref(job))
