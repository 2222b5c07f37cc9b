"""Runners of another system: one job at a time, leased like any other, and reported without facts (law §13).

Their protocol has no lease: a runner is its token, and what it may report on is what that runner has, or had."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, BinaryIO, Final

from django.db import transaction
from django.utils import timezone

from pipelines import engine
from pipelines.engine import Report
from pipelines.errors import Invalid
from pipelines.models import ApiToken, Artifact, Job, RunnerUpload, Worker
from pipelines.ports import leases, queue
from pipelines.ports.leases import WorkOffer
from pipelines.queries import versions
from pipelines.routing.document.kinds.runner import KIND
from pipelines.work.file_measure import TooLarge, measure_file
from pipelines.work.orders.order import (
    MAX_SECONDS,
    Orders,
    Unrenderable,
    rendered_text,
    station_prompt_or_none,
)
from pipelines.work.results.text import escaped_for_storage, masked_value
from pipelines.work.runners import files, presence, runner_claims
from pipelines.work.runners.reports import artifacts_by_job
from pipelines.work.transport.local import reports, stored_results
from pipelines.work.transport.local.claimable import claimable_jobs
from pipelines.work.transport.local.orders import job_orders
from pipelines.work.transport.local.station_values import task_masker
from pipelines.work.transport.protocol import MEDIA_TYPE, LeaseLost, ReportAnswer, ReportFailed
from pipelines.work.worker.attempt_io import MOST_ARTIFACTS, MOST_BYTES

SECONDS: Final = 120.0
"""How long a lease lasts that is not renewed: nothing says how often such a runner calls, and it asks every ten
seconds while it has nothing to do."""
SEEN_AHEAD: Final = timedelta(seconds=30)
"""It is there until it should have asked again, and then some."""
GRACE: Final = timedelta(seconds=60)
"""Beyond its limit: the runner is the one who keeps it."""
MOST_UNRENDERABLE: Final = 20
WITHOUT_A_PROMPT: Final = "{{task.title}}\n\n{{task.description}}"
# Name space for uuid5: a token has the same runner each time it registers
NAMES: Final = uuid.UUID("5b0d7a0e-3f56-4a0c-9a53-2a1f6c1b7d10")


@dataclass(frozen=True)
class Dispatched:
    """A job that this runner holds from now on. `system`: what its agent is told besides."""

    job: Job
    orders: Orders
    prompt: str
    system: str


def register_alp_runner(token: ApiToken, name: str, host: str, labels: Sequence[str]) -> Worker:
    """The one runner of this token. What an earlier process of it held is taken back. `labels`: as for any runner, of
    those of its token."""
    runner, now = runner_id(token), timezone.now()
    its = {
        "name": name,
        "host": host,
        "pid": 0,
        # It may name fewer than its token has, never others
        "labels": sorted(set(labels) & set(token.labels)) if labels else sorted(token.labels),
        "owners": None,
        "answers": [],
        "offers": [f"kind:{KIND.key}"],
        "isolation": "none",
        "concurrency": 1,
        "project_id": token.project_id,
        "stopping": token.drained_at is not None,
        "no_space": False,
        "stopped_at": None,
        "started_at": now,
        "seen_at": now + SEEN_AHEAD,
    }
    registered, made = Worker.objects.update_or_create(id=runner, token=token, defaults=its)
    if not made:
        presence.expire_leases_of_runner(runner)
    return registered


def runner_id(token: ApiToken) -> uuid.UUID:
    return uuid.uuid5(NAMES, str(token.pk))


def registered_runner(token: ApiToken) -> Worker:
    """:raises NotFound: it never registered"""
    runner = presence.registered_runner(token, runner_id(token))
    # Known here: `ids_of_jobs_for_runner` asks it
    runner.token = token
    return runner


def alp_runner_offer(runner: Worker) -> WorkOffer:
    return WorkOffer(
        runner.pk,
        labels=frozenset(runner.labels),
        seconds=SECONDS,
        offers=frozenset(runner.offers or ()),
        project=runner.project_id,
    )


def mark_present(runner: Worker) -> None:
    Worker.objects.filter(pk=runner.pk).update(seen_at=timezone.now() + SEEN_AHEAD, stopped_at=None)


def ids_of_jobs_for_runner(runner: Worker) -> list[int]:
    """The jobs that it could have now, the most urgent first."""
    # One job at a time: its reports need not say which one they are about (docs/runners.md)
    if runner.stopping or leases.leases_of_worker(runner.pk):
        return []
    only_job_id = runner.token.only_job_id if runner.token else None
    return list(claimable_jobs(alp_runner_offer(runner), {queue.DRIVE: MOST_UNRENDERABLE}, only_job_id))


def lease_most_urgent_job_or_none(runner: Worker) -> Dispatched | None:
    """The most urgent job that fits, leased; none while it has one. What cannot be rendered fails before anything
    starts (law §12)."""
    # It has no heartbeat while it is idle: that it asks is its only sign of life
    mark_present(runner)
    # Each that cannot be rendered ends failed, and the next is tried; but the call has to end, too
    for _try in range(MOST_UNRENDERABLE):
        candidates = ids_of_jobs_for_runner(runner)
        job = next(
            (
                job
                for candidate in candidates
                if (job := engine.start_claimed_job_or_none(candidate, alp_runner_offer(runner)))
            ),
            None,
        )
        if job is None:
            return None
        # Left by an earlier attempt
        RunnerUpload.objects.filter(job=job).delete()
        Artifact.objects.filter(job=job).delete()
        # `current` answers with it when the lease has ended
        Worker.objects.filter(pk=runner.pk).update(last_job=job.pk)
        orders = job_orders(job)
        try:
            return Dispatched(job, orders, _prompt_or_default(orders), _system_text(orders))
        except Unrenderable as fault:
            outcome = {"result": "failure", "failure_type": "template_error", "summary": str(fault)}
            deliver_report(runner, job, outcome)
    return None


def _prompt_or_default(orders: Orders) -> str:
    text = orders.station.work.get("prompt") or WITHOUT_A_PROMPT
    work = {**orders.station.work, "prompt": text}
    return station_prompt_or_none(_orders_with_work(orders, work)) or ""


def _system_text(orders: Orders) -> str:
    return rendered_text(orders, "system", str(orders.station.work.get("system") or ""))


def _orders_with_work(orders: Orders, work: Mapping[str, Any]) -> Orders:
    return replace(orders, station=replace(orders.station, work=work))


def current_or_last_job(runner: Worker) -> Job | None:
    """The job that it has now, else the one that it had last."""
    current_leases = leases.leases_of_worker(runner.pk)
    job: Job | None = (
        _jobs_with_owner().filter(pk=current_leases[0].job_id if current_leases else runner.last_job).first()
    )
    return job


def find_job(runner: Worker, job_id: int) -> Job:
    """A job that it has, or had. :raises NotFound"""
    return runner_claims.job_ever_held(runner, job_id)


def has_lease(runner: Worker, job: Job) -> bool:
    return job.lease_key is not None and leases.has_lease(job.pk, job.lease_key, runner.pk)


def renew_lease(runner: Worker, job: Job) -> None:
    """A heartbeat. Beyond the limit of its station the job is cancelled.

    :raises LeaseLost: it has this job no longer"""
    if not has_lease(runner, job):
        raise LeaseLost
    limits = versions.parsed_line_by_version_id(job.pinned_id).station(job.station).limits
    limit = timedelta(seconds=limits.max_timeout or MAX_SECONDS)
    # A program elsewhere need not keep to the limit, and its heartbeats would let it go on for ever
    if job.started_at is not None and job.started_at + limit + GRACE < timezone.now():
        deliver_report(runner, job, {"result": "cancelled", "reason": "max_timeout"})
        raise LeaseLost
    if job.pk not in leases.renew_leases_by_job(runner.pk, SECONDS):
        raise LeaseLost
    mark_present(runner)


def deliver_report(runner: Worker, job: Job, outcome: Mapping[str, Any]) -> ReportAnswer:
    """Deliver the report of such a runner on its job. It observed nothing that Gateline could rely on.

    :raises ReportFailed: nothing moved
    """
    reported = dict(outcome)
    if artifacts := [artifact.to_dict() for artifact in artifacts_by_job([job.pk]).get(job.pk, ())]:
        reported["artifacts"] = artifacts
    its = job.worker_id == runner.pk and job.lease_key is not None
    # A lease that no job has: the fence refuses the report like any late one
    lease = job.lease_key if its else uuid.uuid5(NAMES, f"{runner.pk} {job.pk}")
    by = f"worker:{runner.pk}"
    (answer,) = reports.deliver_reports(
        [Report(job.pk, job.attempt, lease, masked_value(reported, task_masker(job.task)), by=by)]
    )
    if answer.status == "error":
        raise ReportFailed(answer.detail)
    if answer.status == "accepted":
        RunnerUpload.objects.filter(job=job).delete()
    return answer


def keep_artifact(runner: Worker, job: Job, name: str, media_type: str, file: BinaryIO) -> Artifact:
    """Bytes that its work left, under a name; the same name again replaces them.

    :raises Invalid: it is too large, one too many, or its name cannot be shown; LeaseLost"""
    lease = job.lease_key
    if lease is None or not has_lease(runner, job):
        raise LeaseLost
    if not name or escaped_for_storage(name) != name or escaped_for_storage(media_type) != media_type:
        raise Invalid.at("name", "is no name that can be shown")
    try:
        measured = measure_file(file, MOST_BYTES)
    except TooLarge as error:
        raise Invalid.at("file", str(error)) from error
    others = Artifact.objects.filter(job=job).exclude(name=name).select_related("blob")
    sizes = [artifact.blob.size for artifact in others]
    if len(sizes) >= MOST_ARTIFACTS:
        raise Invalid.at("file", f"A run hands over at most {MOST_ARTIFACTS} files.")
    if sum(sizes) + measured.size > MOST_BYTES:
        raise Invalid.at("file", f"A run hands over at most {MOST_BYTES // 1024**2} MB.")
    file.seek(0)
    files.keep_file(job, lease, measured.digest, measured.size, file)
    with transaction.atomic():
        # Looked at again: the lease may have ended while the bytes were stored
        stored_results.lock_lease_and_read_time(job.pk, lease)
        stored_artifact, _made = Artifact.objects.update_or_create(
            job=job,
            name=name,
            defaults={
                "task_id": job.task_id,
                "media_type": media_type or MEDIA_TYPE,
                "blob_id": measured.digest,
            },
        )
    return stored_artifact


def seconds_since_start(job: Job, now: datetime) -> float:
    """Seconds since it began, as its log counts them."""
    return max(0.0, (now - job.started_at).total_seconds()) if job.started_at else 0.0


def _jobs_with_owner() -> Any:
    return Job.objects.select_related("task__project__owner")
