"""The end of a wait (`work.kind: wait`): the engine reports it like any other outcome."""

from __future__ import annotations

from pipelines.engine.commands.report import report
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.unassigned import outcome_of_wait
from pipelines.engine.core.values import ENGINE, Report
from pipelines.models import Due, Job
from pipelines.queries import versions


def handle_elapsed_wait(batch: Batch, due: Due) -> None:
    """Handle due times of kind `wait`."""
    job = batch.jobs.get(due.job_id or 0)
    if job is None or job.state != Job.State.RUNNING:
        return
    task, token = batch.tasks[job.task_id], batch.tokens[job.token_id]
    station = versions.by_id(job.pinned_id).station(job.station)
    outcome = outcome_of_wait(station, task, due)
    report([Report(job.pk, job.attempt, None, outcome, by=str(ENGINE), token_version=token.version)])
