"""The due time of work that takes too long: in a line that looks for deadlocks, a job whose station says what is
expected of it has twice that time from its start (law §8, §12 Waiting). What has not started is not late:
waiting for a worker, for a place at its agent, or for whatever holds it takes as long as it takes."""

from __future__ import annotations

from datetime import datetime, timedelta

from pipelines.engine.core.batch import TICK, Batch
from pipelines.engine.core.unassigned import WAIT
from pipelines.models import AgentEvent, Job, Task, Token
from pipelines.queries import versions
from pipelines.routing.decide.deadlocks import deadlock_limit, is_past_deadlock_limit

LATE = "deadlock"
"""The kind of the due time; its key is the token's."""
SUSPENDED, RESTORED = "suspended", "restored"
NEXT_LOOK = 60.0
"""Seconds until it is looked again while the agent is suspended: nobody tells the tasks when it is restored."""


def expected_seconds_of_station_or_none(job: Job) -> float | None:
    """Seconds, by the version under which the job starts: its station may have another name in the task's by now."""
    return versions.parsed_line_by_version_id(job.pinned_id).station(job.station).limits.expected


def set_late_due_time(batch: Batch, task: Task, token: Token, job: Job) -> None:
    """Set the due time at which the job, which starts now, is late."""
    seconds = expected_seconds_of_station_or_none(job)
    # A wait takes as long as its line says.
    if seconds and job.kind != WAIT and versions.parsed_line_by_version_id(job.pinned_id).policy.deadlocks:
        _schedule_late_due_time(batch, task, token, deadlock_limit(seconds))


def drop_late_due_time(batch: Batch, task: Task, token: Token) -> None:
    """Drop that due time: the job was taken back, and gets a new one when it starts again."""
    batch.drop_due_time(LATE, task, str(token.pk))


def is_job_late_or_reschedule(batch: Batch, task: Task, token: Token, job: Job) -> bool:
    """Return whether a running job has taken too long, without the time in which its agent was suspended. If
    not, set the time of the next check."""
    seconds = expected_seconds_of_station_or_none(job)
    if not seconds or job.started_at is None:
        return False
    total, suspended = _working_seconds_and_is_suspended(
        batch.now, job.started_at, _suspend_and_restore_times(task, job)
    )
    if is_past_deadlock_limit(total, seconds):
        return True
    left = deadlock_limit(seconds) - total
    _schedule_late_due_time(batch, task, token, max(left, NEXT_LOOK) if suspended else left)
    return False


def _schedule_late_due_time(batch: Batch, task: Task, token: Token, seconds: float) -> None:
    """Late is strictly more than that (`timed_out`)."""
    late = batch.now + timedelta(seconds=seconds) + TICK
    batch.schedule_due_time(LATE, task, late, key=str(token.pk), token=token)


def _working_seconds_and_is_suspended(
    now: datetime, started: datetime, suspensions: list[tuple[str, datetime]]
) -> tuple[float, bool]:
    """Seconds since the start, less those of the suspensions; and whether one is in force."""
    total, since = now - started, None
    for kind, at in [*suspensions, ("now", now)]:
        # An agent may have been suspended before the job began.
        at = min(max(at, started), now)
        if since is not None:
            total -= at - since
        since = at if kind == SUSPENDED else None if kind == RESTORED else since
    return total.total_seconds(), since is not None


def _suspend_and_restore_times(task: Task, job: Job) -> list[tuple[str, datetime]]:
    if not job.agent:
        return []
    events = AgentEvent.objects.filter(agent__project=task.project_id, agent__key=job.agent)
    return list(events.filter(kind__in=(SUSPENDED, RESTORED)).order_by("pk").values_list("kind", "at"))
