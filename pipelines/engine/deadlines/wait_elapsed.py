"""The end of a wait (`work.kind: wait`): the engine reports it like any other outcome."""

from __future__ import annotations

from pipelines.engine.commands.report import report
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.unassigned import NotATime, time_of
from pipelines.engine.core.values import ENGINE, Report
from pipelines.models import Due, Job
from pipelines.queries import versions


def wait_is_over(batch: Batch, due: Due) -> None:
    """Handle due times of kind `wait`."""
    job = batch.jobs.get(due.job_id or 0)
    if job is None or job.state != Job.State.RUNNING:
        return
    task, token = batch.tasks[job.task_id], batch.tokens[job.token_id]
    station = versions.by_id(job.pinned_id).station(job.station)
    try:
        if due.due_at <= due.set_at:
            # Due at once: its time had already passed, or could not be computed.
            time_of(station, task, due.set_at)
        outcome = {"result": "success", "summary": f"Waited until {due.due_at:%Y-%m-%d %H:%M:%S} UTC."}
    except NotATime as fault:
        outcome = {"result": "failure", "failure_type": "template_error", "summary": str(fault)}
    report([Report(job.pk, job.attempt, None, outcome, by=str(ENGINE), token_version=token.version)])
