"""The lease by which a runner has a job."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable

from pipelines.errors import NotFound, first_row_or_raise_not_found
from pipelines.models import Event, Job, RunnerUpload, Worker
from pipelines.ports import leases
from pipelines.ports.leases import WorkOffer
from pipelines.work.runners import credentials
from pipelines.work.transport.local import jobs
from pipelines.work.transport.protocol import LeaseLost, Started


def start_jobs(job_ids: Collection[int], offer: WorkOffer) -> dict[int, Started]:
    """{job: what it starts with} of those that nobody else was first to take and that this runner may have, in one
    transaction. Files of an attempt before are forgotten."""
    begun = jobs.start_jobs(job_ids, offer)
    # What an attempt before has sent this one may not name as its own
    RunnerUpload.objects.filter(job__in=[started.orders.job_id for started in begun]).delete()
    return {
        started.orders.job_id: credentials.started_job_with_narrowed_credentials(started) for started in begun
    }


def job_under_lease(runner: Worker, job_id: int, lease: uuid.UUID) -> Job:
    """The job that this runner has under this lease. :raises LeaseLost; NotFound: a job of another project"""
    # By its project first: of a job of another one a runner learns not even whether it is leased
    job = Job.objects.select_related("task__project__owner").filter(
        pk=job_id, task__project=runner.project_id
    )
    stored_job = first_row_or_raise_not_found(job)
    if not leases.has_lease(job_id, lease, runner.pk):
        raise LeaseLost
    return stored_job


def job_ever_held(runner: Worker, job_id: int) -> Job:
    """A job that it has, or had: whether its word still counts the fence says. :raises NotFound"""
    job = job_ever_held_by_id(runner, [job_id]).get(job_id)
    if job is None:
        raise NotFound
    return job


def job_ever_held_by_id(runner: Worker, job_ids: Iterable[int]) -> dict[int, Job]:
    """{id: job} of those that it has, or had, with task, project and owner loaded."""
    known = Job.objects.select_related("task__project__owner").filter(task__project=runner.project_id)
    own_jobs = known.filter(pk__in=[*job_ids])
    return {job.pk: job for job in own_jobs if was_ever_job_of(runner, job)}


def was_ever_job_of(runner: Worker, job: Job) -> bool:
    """Return whether this runner has this job of its project, or had it."""
    return job.worker_id == runner.pk or _had_job(runner, job)


def _had_job(runner: Worker, job: Job) -> bool:
    # The job names its last worker only: those before stand in the events
    return Event.objects.filter(task=job.task_id, actor=f"worker:{runner.pk}", source=job.station).exists()
