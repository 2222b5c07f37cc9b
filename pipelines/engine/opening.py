"""Opening the next job of a token: the only place where a Job is made (semantics §1, Job)."""

from __future__ import annotations

import uuid

from pipelines import ports, versions
from pipelines.engine.batch import Batch, HandOn
from pipelines.leases import Claim
from pipelines.models import Job, Status, Task, Token
from pipelines.routing.line import Station

MANUAL = "manual"


def open_job(
    batch: Batch,
    task: Task,
    token: Token,
    *,
    feedback: str = "",
    claim: Claim | None = None,
    after: Job | None = None,
) -> Job:
    """The job of the station at which the token stands now; its visit is already counted in `task.visits`.

    A manual job runs at once, without a lease. A driver that goes straight on (`claim`, from the job `after` whose
    lease it holds) gets the job leased, if it may take it; else there is a ticket."""
    station = versions.by_id(task.pinned_id).station(token.station)
    job = Job(
        id=batch.next_job_id(),
        task=task,
        token=token,
        pinned_id=task.pinned_id,
        station=station.key,
        kind=station.kind,
        visit=task.visits[station.key],
        feedback=feedback,
        created_at=batch.now,
    )
    token.status = Status.QUEUED
    if station.kind == MANUAL:
        _start(job, token)
    elif claim and after and _may_take(claim, task, station, after):
        job.lease_key, job.worker_id = uuid.uuid4(), claim.worker
        _start(job, token)
        batch.hand_lease_on(HandOn(after.pk, job.pk, job.lease_key, claim.seconds))
    else:
        batch.ticket(token)
    batch.add_job(job)
    batch.tell(ports.JobOpened(task.pk, job.pk, job.station, job.kind))
    return job


def _start(job: Job, token: Token) -> None:
    job.state, job.started_at = Job.State.RUNNING, job.created_at
    token.status = Status.RUNNING


def _may_take(claim: Claim, task: Task, station: Station, after: Job) -> bool:
    return after.worker_id == claim.worker and claim.takes(task.project.owner.key, station.labels)
