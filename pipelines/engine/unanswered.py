"""A question that no machine takes: nobody is able to answer it any more. It is for a person then (semantics §3)."""

from __future__ import annotations

from pipelines.engine import effects, evaluations
from pipelines.engine.batch import Batch
from pipelines.engine.ending import finish_job
from pipelines.engine.turn import settle
from pipelines.engine.values import ENGINE
from pipelines.models import Due, Job


def nobody_answered(batch: Batch, due: Due) -> None:
    """The function of the due times of kind `evaluation`. What has begun has limits of its own, and is looked at again:
    its worker may be lost."""
    job = batch.jobs.get(due.job_id or 0)
    if job is None or job.state == Job.State.DONE:
        return
    if job.state == Job.State.RUNNING:
        evaluations.wait_for_machines(batch, batch.tasks[job.task_id], job)
    else:
        outcome = {"result": "cancelled", "summary": "No worker that can answer took this question."}
        finish_job(batch, job, outcome, str(ENGINE))
        turn, situation = evaluations.answered(batch, job, ENGINE, f"due:{job.pk}")
        effects.apply(turn, settle(turn, situation))
    batch.flush()
