"""Passing through stations that do nothing: the visit that the next commit would record is recorded by this one, as the
report that would have come (law §5, house §2). It is what the same worker says of a `noop`, and the clock of a `wait`
whose time had come when it began; nothing of it is decided or written in another way.

Whatever would keep a worker from going straight on keeps the task here, too: the `noop` was handed on to the worker
that reports, under its offer, or it is left to the queue."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from pipelines.engine.core.batch import Batch
from pipelines.engine.core.unassigned import WAIT, outcome_of_wait
from pipelines.engine.core.values import ENGINE, Report
from pipelines.models import Delivery, Job, Purpose, Task
from pipelines.queries import versions
from pipelines.queries.same_patch_approvals import version_same_patch_gates
from pipelines.routing.document.kinds.deliver import KIND as DELIVER
from pipelines.routing.document.kinds.noop import KIND as NOOP
from pipelines.routing.document.line import ParsedLine

MOST = 20
"""Stations that one task passes through in one transaction: as many as a worker takes before others have their turn. A
circle of stations that do nothing would otherwise keep its task locked until its limit is reached."""
DONE = {"result": "success"}
"""What work of kind `noop` reports (`work/handlers/noop.py`)."""


def report_if_job_does_nothing(batch: Batch, before: Report, job: Job | None) -> Report | None:
    """Return what would be reported of `job`, to which `before` led, if it does nothing; None: it waits for
    somebody."""
    if job is None or job.purpose != Purpose.STATION or not batch.was_job_opened_here(job):
        return None
    task = batch.tasks[job.task_id]
    if (
        job.state != Job.State.RUNNING
        or not _has_task_one_position(batch, task)
        or _reads_version_stored_jobs(job.pinned_id)
    ):
        return None
    if job.kind == NOOP.key:
        return _report_of_noop_station_or_none(before, job)
    return _report_of_wait_over_at_once_or_none(batch, task, job) if job.kind == WAIT else None


def _report_of_noop_station_or_none(before: Report, job: Job) -> Report | None:
    offer, line = before.offer_for_next, versions.parsed_line_by_version_id(job.pinned_id)
    if offer is None or job.lease_key is None or job.worker_id != offer.worker:
        return None
    if line.workspace is not None and (
        line.station(job.station).join is not None or _did_delivery_find_base_moved(line, job)
    ):
        # The worker merges there first: branches of a repository, or what its base became.
        return None
    return replace(before, job_id=job.pk, attempt=job.attempt, lease=job.lease_key, outcome=dict(DONE))


def _did_delivery_find_base_moved(line: ParsedLine, job: Job) -> bool:
    """Say if a delivery found the base elsewhere: the next station of a worker takes it in (law §15)."""
    delivers = any(station.kind == DELIVER.key for station in line.stations)
    return delivers and Delivery.objects.filter(task=job.task_id, moved=True).exists()


def _report_of_wait_over_at_once_or_none(batch: Batch, task: Task, job: Job) -> Report | None:
    due = batch.due_time_over_when_set_or_none(WAIT, task, str(job.pk))
    if due is None:
        return None
    outcome = outcome_of_wait(
        versions.parsed_line_by_version_id(job.pinned_id).station(job.station), task, due
    )
    # What it would have brought is reported now
    batch.drop_due_time(WAIT, task, str(job.pk))
    version = batch.tokens[job.token_id].version
    return Report(job.pk, job.attempt, None, outcome, by=str(ENGINE), token_version=version)


def _has_task_one_position(batch: Batch, task: Task) -> bool:
    """Return whether the task is at one place only. Where branches meet, and in which order they came, is
    read from rows that earlier transactions wrote."""
    living = batch.living_tokens(task)
    return len(living) == 1 and living[0].parent_id is None


# A published version never changes (house §2)
@lru_cache(maxsize=512)
def _reads_version_stored_jobs(version: int) -> bool:
    """Return whether a decision of this version reads the jobs of earlier visits from their rows, which are
    written at the end of the transaction: what they cost, what was observed of them, whether an approval
    stands for their files."""
    line = versions.parsed_line_by_version_id(version)
    return line.limits.cost_usd is not None or line.reads_stations or bool(version_same_patch_gates(version))
