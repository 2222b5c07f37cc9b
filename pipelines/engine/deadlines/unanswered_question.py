"""A question that no machine can answer any more: a person is asked instead (law §3)."""

from __future__ import annotations

from pipelines.engine.core.batch import Batch
from pipelines.engine.core.decision_context import decide_and_store
from pipelines.engine.core.values import ENGINE
from pipelines.engine.moves import effects, evaluations
from pipelines.engine.moves.completion import finish_job
from pipelines.models import Due, Job
from pipelines.ports import leases


def handle_unanswered_question(batch: Batch, due: Due) -> None:
    """Handle due times of kind `evaluation`. A question that has started has limits of its own, and one
    that waits for busy workers will start. Both are checked again later, because those workers may be lost."""
    job = batch.jobs.get(due.job_id or 0)
    if job is None or job.state == Job.State.DONE:
        return
    task = batch.tasks[job.task_id]
    if job.state == Job.State.RUNNING or job.kind in leases.answerable_evaluations(
        task.project.owner.key, task.project_id
    ):
        evaluations.wait_for_machines(batch, task, job)
    else:
        outcome = {"result": "cancelled", "summary": "No worker is left that can answer this question."}
        finish_job(batch, job, outcome, str(ENGINE))
        turn, situation = evaluations.situation_after_job(batch, job, ENGINE, f"due:{job.pk}")
        effects.apply(turn, decide_and_store(turn, situation))
    batch.flush()
