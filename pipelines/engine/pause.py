"""Work that is held while something about its task is cleared up: an escalation that was not answered, a deadlock."""

from __future__ import annotations

from typing import Any

from pipelines.engine.batch import Batch
from pipelines.engine.state import job_ref, token_state
from pipelines.engine.unleased import UNLEASED, begin, unbegin
from pipelines.engine.values import Actor
from pipelines.models import Job, Status, Task, Token

WORKING = (Status.QUEUED, Status.RUNNING)


def pause(batch: Batch, task: Task, token: Token, actor: Actor | str, by: str, **wait: Any) -> bool:
    """Hold a position that has work to do; a running job is taken back, and no attempt is counted. `by`: the id of
    what holds it, and lets it go again. Answers whether there was anything to hold."""
    job = batch.open_job(token)
    if token.status not in WORKING or job is None:
        return False
    hold(batch, task, token, job, actor, {"paused_by": by, **wait})
    return True


def hold(batch: Batch, task: Task, token: Token, job: Job, actor: Actor | str, wait: dict[str, Any]) -> None:
    """Its job waits, too; `wait` shows what lets it go."""
    if job.state == Job.State.RUNNING:
        if job.kind in UNLEASED:
            unbegin(batch, task, job)
        elif job.lease_key:
            batch.drop_lease(job)
        job.state, job.lease_key, job.worker_id, job.started_at = Job.State.QUEUED, None, None, None
        batch.job_changed(job)
    token.status, token.wait = Status.HELD, wait
    _tell(batch, task, token, job, "token.waits", actor, "pause")


def resume(batch: Batch, task: Task, token: Token, actor: Actor | str, feedback: str = "") -> None:
    """Let it go on. `feedback`: what its job is told besides."""
    job = batch.open_job(token)
    assert job is not None
    token.wait = {}
    if feedback:
        job.feedback = feedback
        Job.objects.filter(pk=job.pk).update(feedback=feedback)
    if job.kind in UNLEASED:
        begin(batch, task, job)
        token.status = Status.RUNNING
        batch.job_changed(job)
    else:
        token.status = Status.QUEUED
        batch.ticket(token)
    _tell(batch, task, token, job, "token.released", actor, "resume")


def _tell(
    batch: Batch, task: Task, token: Token, job: Job, kind: str, actor: Actor | str, trigger: str
) -> None:
    batch.changed(token)
    batch.settle_status(task)
    batch.event(
        task,
        kind,
        actor,
        token=token,
        source=token.station,
        target=token.station,
        trigger=trigger,
        tokens=[token_state(token)],
        wait=token.wait,
        job=job_ref(job),
    )
