"""Due times: none outlives what waits for it (I8), and what waits for a time has one (I17)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipelines.engine.core.due_times import LATE
from pipelines.engine.core.expected_times import expected_seconds_of_station_or_none
from pipelines.engine.core.unassigned import WAIT
from pipelines.engine.invariants.record_reading import TaskRecord, task_records
from pipelines.models import ENDED, Due, GateVisit, Job, Purpose
from pipelines.ports.observers import Violation
from pipelines.queries import versions

Ids = Sequence[int] | None


def stale_due_time_violations(task_ids: Ids) -> Iterable[Violation]:
    """I8: no due time of a task, token, job or gate visit that is over, nor of a token that has moved on since."""
    for record in task_records(task_ids, "tokens", "jobs", "visits", "dues"):
        for due in record.dues:
            why = _reason_due_time_is_over(record, due)
            if why:
                yield record.violation("I8", f"due time {due.kind} {due.key} is kept although {why}")


def _reason_due_time_is_over(record: TaskRecord, due: Due) -> str:
    if record.task.status in ENDED:
        return "its task has ended"
    if due.job_id and any(job.pk == due.job_id and job.state == Job.State.DONE for job in record.jobs):
        return "its job is done"
    if due.visit_id and not any(
        visit.pk == due.visit_id and _is_open_visit(visit) for visit in record.visits
    ):
        return "its gate visit is over"
    token = next((token for token in record.tokens if token.pk == due.token_id), None)
    if token is None:
        return ""
    if token.status in ENDED or token.forked:
        return "its token has ended"
    return "its token has moved on" if token.entered_at > due.set_at else ""


def unnoticed_late_work_violations(task_ids: Ids) -> Iterable[Violation]:
    """I17: work of which a time is expected has its due time while it runs, in a line that looks for deadlocks. (A
    migration changes no time that was set.)"""
    for record in task_records(task_ids, "tokens", "jobs", "dues", "events"):
        if any(event.kind == "task.migrated" for event in record.events):
            continue
        late_keys = {due.key for due in record.dues if due.kind == LATE}
        for job in record.jobs:
            if (
                job.state == Job.State.RUNNING
                and str(job.token_id) not in late_keys
                and _needs_late_due_time(job)
            ):
                yield record.violation(
                    "I17", f"job {job.pk} may take as long as it likes, and nothing would tell"
                )


def _needs_late_due_time(job: Job) -> bool:
    looks = versions.parsed_line_by_version_id(job.pinned_id).policy.deadlocks
    return (
        looks
        and job.kind != WAIT
        and job.purpose == Purpose.STATION
        and expected_seconds_of_station_or_none(job) is not None
    )


def _is_open_visit(visit: GateVisit) -> bool:
    return visit.state == GateVisit.State.OPEN


def gate_without_due_time_violations(task_ids: Ids) -> Iterable[Violation]:
    """I17: an open gate visit whose time is still to come has its due time."""
    for record in task_records(task_ids, "visits", "dues", "events"):
        timed_visits = {due.visit_id for due in record.dues}
        overdue_visits = {event.data.get("visit") for event in record.events if event.kind == "gate.overdue"}
        for visit in record.visits:
            if (
                _is_open_visit(visit)
                and visit.due_at
                and visit.pk not in timed_visits
                and str(visit.pk) not in overdue_visits
            ):
                yield record.violation("I17", f"gate visit {visit.pk} is due and nothing would tell")
