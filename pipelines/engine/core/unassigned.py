"""Work done by a person or the clock instead of a worker. Its job runs from the moment it is created, without a
lease."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pipelines.engine.core.batch import Batch
from pipelines.engine.core.decision_context import task_fields
from pipelines.engine.core.due_times import MANUAL, WAIT
from pipelines.models import Due, Job, Task
from pipelines.queries import versions
from pipelines.routing.basics.durations import parse_seconds
from pipelines.routing.document.line import Station
from pipelines.routing.document.templates import TemplateError, render_template

UNLEASED = (MANUAL, WAIT)
# A century: times further away are not stored.
LONGEST = 100 * 365 * 86400.0


class NotATime(ValueError):
    """Error: `until` does not give a time. The message says why and becomes the outcome's summary."""


def start_job_without_worker(batch: Batch, task: Task, job: Job) -> None:
    """Start the job; a `wait` gets its due time. If its time cannot be computed it is due at once and ends with that
    error."""
    job.state, job.started_at = Job.State.RUNNING, batch.now
    if job.kind == WAIT:
        try:
            at = end_time_of_wait(
                versions.parsed_line_by_version_id(job.pinned_id).station(job.station), task, batch.now
            )
        except NotATime:
            at = batch.now
        batch.schedule_due_time(WAIT, task, at, key=str(job.pk), job=job)


def undo_start_without_worker(batch: Batch, task: Task, job: Job) -> None:
    """Undo `start_job_without_worker`: the task turned out to be held."""
    job.state, job.started_at = Job.State.QUEUED, None
    batch.drop_due_time(WAIT, task, str(job.pk))


def end_time_of_wait(station: Station, task: Task, now: datetime) -> datetime:
    """Return when a `wait` that starts now ends.

    :raises NotATime:
    """
    work = station.work
    if "for" in work:
        return now + timedelta(seconds=parse_seconds(work["for"]))
    text = time_text_filled_in(station, str(work.get("until", "")), task)
    try:
        moment = datetime.fromisoformat(text.strip())
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        # A time that has passed is due at once.
        return min(max(moment.astimezone(UTC), now), now + timedelta(seconds=LONGEST))
    except (ValueError, OverflowError):
        raise NotATime(
            f"{station.key}: work.until says “{text[:100]}”, which is no time like 2031-05-06T07:08:09+02:00."
        ) from None


def outcome_of_wait(station: Station, task: Task, due: Due) -> dict[str, Any]:
    """Return the outcome of a `wait` that is over. Where no time could be computed it was due at once, or later by a
    pause."""
    try:
        end_time_of_wait(station, task, due.set_at)
    except NotATime as fault:
        return {"result": "failure", "failure_type": "template_error", "summary": str(fault)}
    return {"result": "success", "summary": f"Waited until {due.due_at:%Y-%m-%d %H:%M:%S} UTC."}


def time_text_filled_in(station: Station, text: str, task: Task) -> str:
    """:raises NotATime:"""
    scope: Mapping[str, Any] = {
        "task": task_fields(task),
        "input": task.inputs,
        "context": task.context,
        "variables": task.variables,
    }
    try:
        return render_template(text, scope)
    except TemplateError as error:
        raise NotATime(f"{station.key}: work.until: {error}") from None
