"""The due time of work that takes too long: in a line that looks for deadlocks, a job whose station says what is
expected of it has twice that time from its start (law §8, §12 Waiting). What has not started is not late:
waiting for a worker, for a place at its agent, or for whatever holds it takes as long as it takes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from operator import itemgetter

from pipelines.engine.core.batch import TICK, Batch
from pipelines.engine.core.due_times import LATE, MANUAL, WAIT
from pipelines.models import AgentEvent, Job, Pause, Task, Token
from pipelines.queries import versions
from pipelines.routing.decide.deadlocks import deadlock_limit, is_past_deadlock_limit

SUSPENDED, RESTORED = "suspended", "restored"
Span = tuple[datetime, datetime | None]
"""Begin and end of a time that does not count; None: it has not ended."""
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
    """Return whether a running job has taken too long, without the time in which its agent was suspended, or the work
    of a person paused. If not, set the time of the next check."""
    seconds = expected_seconds_of_station_or_none(job)
    if not seconds or job.started_at is None:
        return False
    suspensions = _suspensions_of_agent(task, job)
    total = _seconds_outside(batch.now, job.started_at, [*suspensions, *_pauses_of_people(task, job)])
    if is_past_deadlock_limit(total, seconds):
        return True
    left = deadlock_limit(seconds) - total
    suspended = any(end is None for _begin, end in suspensions)
    _schedule_late_due_time(batch, task, token, max(left, NEXT_LOOK) if suspended else left)
    return False


def _schedule_late_due_time(batch: Batch, task: Task, token: Token, seconds: float) -> None:
    """Late is strictly more than that (`timed_out`)."""
    late = batch.now + timedelta(seconds=seconds) + TICK
    batch.schedule_due_time(LATE, task, late, key=str(token.pk), token=token)


def _seconds_outside(now: datetime, started: datetime, spans: Iterable[Span]) -> float:
    """Seconds since the start, less those of the spans, of which one may have begun before it, or within another."""
    total, counted = now - started, started
    for begin, end in sorted(spans, key=itemgetter(0)):
        begin, end = max(begin, counted), min(end or now, now)
        if end > begin:
            total, counted = total - (end - begin), end
    return total.total_seconds()


def _suspensions_of_agent(task: Task, job: Job) -> list[Span]:
    if not job.agent:
        return []
    events = AgentEvent.objects.filter(agent__project=task.project_id, agent__key=job.agent)
    spans: list[Span] = []
    for kind, at in events.filter(kind__in=(SUSPENDED, RESTORED)).order_by("pk").values_list("kind", "at"):
        is_in_force = bool(spans) and spans[-1][1] is None
        if kind == RESTORED and is_in_force:
            spans[-1] = (spans[-1][0], at)
        elif kind == SUSPENDED and not is_in_force:
            spans.append((at, None))
    return spans


def _pauses_of_people(task: Task, job: Job) -> list[Span]:
    """The pauses over the work of a person; what a worker does under one runs on (law §8)."""
    if job.kind != MANUAL:
        return []
    over = Pause.of_task(task).filter(station__in=("", job.station))
    return list(over.values_list("since", "ended_at"))
