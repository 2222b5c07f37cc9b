"""Assignment of jobs to workers, and its end. `pipelines/ports/leases.py` keeps the leases; this module
updates the task."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from functools import partial
from uuid import UUID, uuid4

from pipelines.engine.commands.report import report
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.expected_times import drop_late_due_time, set_late_due_time
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.core.unassigned import UNLEASED
from pipelines.engine.core.values import ENGINE, Actor, Report, job_fields_for_event, token_fields_for_event
from pipelines.engine.moves.job_creation import does_offer_cover_job
from pipelines.engine.moves.pausing import add_hold
from pipelines.engine.statements import DROP_UNREPORTED_RESULTS, IF_EXPIRED, TAKE_LEASE_BACK
from pipelines.models import Job, Purpose, Status, Token
from pipelines.models.plumbing.compiled_queries import execute
from pipelines.ports import queue
from pipelines.ports.leases import MAX_ATTEMPTS, WorkOffer

LOST = {"result": "cancelled", "reason": "lease_lost"}


def start_claimed_job_or_none(job_id: int, offer: WorkOffer) -> Job | None:
    """Give a queued job to a worker. None when it cannot start: another worker was first, the task is held or has
    ended, its agent is suspended or at capacity, or the offer does not fit the station. The lease is set here and
    never null (house §4)."""
    return next(iter(start_claimed_jobs([job_id], offer)), None)


def start_claimed_jobs(job_ids: Collection[int], offer: WorkOffer) -> list[Job]:
    """Several jobs in one transaction; those that cannot start are left out."""
    return run_in_transaction(partial(_start_jobs, job_ids, offer))


def _start_jobs(job_ids: Collection[int], offer: WorkOffer) -> list[Job]:
    batch = Batch.of_jobs(job_ids)
    jobs = [batch.jobs[job_id] for job_id in job_ids if job_id in batch.jobs]
    # They were chosen without a lock: under it each is looked at again
    begun = [job for job in jobs if _try_start(batch, job, offer)]
    for job in begun:
        job.lease_key = uuid4()
        batch.grant_lease(job, offer)
        _record_job_event_and_derive_status(batch, job, "job.started", Actor("worker", str(offer.worker)))
    batch.flush()
    return begun


def _try_start(batch: Batch, job: Job, offer: WorkOffer) -> bool:
    """Start the job in memory, without its lease; return whether it starts."""
    if job.state != Job.State.QUEUED or job.kind in UNLEASED:
        return False
    task, token = batch.tasks[job.task_id], batch.tokens[job.token_id]
    # law §3: an evaluation runs as a job of its own, while its token is `evaluating`.
    asks = job.purpose != Purpose.STATION
    if token.status != (Status.EVALUATING if asks else Status.QUEUED) or not does_offer_cover_job(
        offer, task, job
    ):
        return False
    # law §17: a pause that was made since the job was queued holds it now, before its due time does.
    if not asks and batch.pauses and (pauses := batch.pauses_in_force_at(task.pk, token.station)):
        for pause in pauses:
            add_hold(batch, task, token, ENGINE, pause.hold_by_this_pause)
        return False
    if not batch.agents.agent_may_start_job(task, job):
        return False
    job.worker_id, job.state, job.started_at = offer.worker, Job.State.RUNNING, batch.now
    if not asks:
        token.status = Status.RUNNING
        set_late_due_time(batch, task, token, job)
    # As they were locked: whoever writes the orders of the job asks for neither again
    job.task, job.token = task, token
    batch.mark_job_changed(job)
    return True


def expire_lease(job_id: int, attempt: int, lease: UUID) -> str:
    """Handle an expired lease. Returns `requeued` (attempt + 1, with a new ticket), `ended` (that was the last
    attempt: the outcome is cancelled with `lease_lost` and routed like any other) or `kept` (renewed or reported in
    the meantime)."""
    return run_in_transaction(partial(_take_back_job_and_return_result, job_id, attempt, lease, expired=True))


def requeue_job_and_return_result(job_id: int, attempt: int, lease: UUID, after: float = 0.0) -> str:
    """Give back the job of a worker that stops as planned, or that looks again `after` seconds. Returns `requeued`,
    without counting an attempt, or `kept`, see `expire_lease`."""
    return run_in_transaction(
        partial(_take_back_job_and_return_result, job_id, attempt, lease, expired=False, after=after)
    )


def _take_back_job_and_return_result(
    job_id: int, attempt: int, lease: UUID, *, expired: bool, after: float = 0.0
) -> str:
    batch = Batch.of_jobs([job_id])
    job = batch.jobs.get(job_id)
    if job is None or (job.state, job.attempt, job.lease_key) != (Job.State.RUNNING, attempt, lease):
        return "kept"
    if not _try_to_take_lease_from_worker(job_id, lease, expired):
        return "kept"
    # Else the next attempt, or an outcome that nobody reported, would have the files and the commit of this one
    execute(DROP_UNREPORTED_RESULTS, [[job_id]])
    # law §1: the outcome is then cancelled with `lease_lost`, and routed like any other.
    if expired and attempt >= MAX_ATTEMPTS:
        # It makes a batch of its own: this one has changed nothing, and is not flushed
        report([Report(job_id, attempt, lease, dict(LOST), by=str(ENGINE))])
        return "ended"
    token = batch.tokens[job.token_id]
    job.state, job.lease_key, job.worker_id, job.started_at = Job.State.QUEUED, None, None, None
    # law §1: only a lost lease counts as an attempt, the planned stop of a worker does not.
    job.attempt += expired
    if job.purpose == Purpose.STATION:
        token.status = Status.QUEUED
        drop_late_due_time(batch, batch.tasks[job.task_id], token)
    job.not_before = batch.now + timedelta(seconds=after) if after else None
    batch.mark_job_changed(job)
    _record_job_event_and_derive_status(batch, job, "job.lost" if expired else "job.returned", ENGINE)
    # law §17: under a pause nothing begins, and so not anew either
    pauses = batch.pauses_in_force_at(job.task_id, token.station) if job.purpose == Purpose.STATION else ()
    for pause in pauses:
        add_hold(batch, batch.tasks[job.task_id], token, ENGINE, pause.hold_by_this_pause)
    if not pauses:
        _enqueue_token(batch, job, token)
    batch.flush()
    return "requeued"


def _enqueue_token(batch: Batch, job: Job, token: Token) -> None:
    if job.not_before is None:
        batch.add_ticket(token)
    else:
        queue.enqueue_token_tickets([token.pk], queue.queue_of_open_job(job), not_before=job.not_before)


def _try_to_take_lease_from_worker(job_id: int, lease: UUID, expired: bool) -> bool:
    """Take the lease away; return whether that happened. A worker renews without locking the task, so the row
    itself settles whether the lease has expired."""
    return execute(TAKE_LEASE_BACK + (IF_EXPIRED if expired else ""), [job_id, lease]) == 1


def _record_job_event_and_derive_status(batch: Batch, job: Job, kind: str, actor: Actor) -> None:
    task, token = batch.tasks[job.task_id], batch.tokens[job.token_id]
    batch.mark_token_changed(token)
    batch.derive_and_set_task_status(task)
    batch.append_event(
        task,
        kind,
        actor,
        token=token,
        source=job.station,
        target=job.station,
        trigger=f"job:{job.pk}.{job.attempt}",
        tokens=[token_fields_for_event(token)],
        job=job_fields_for_event(job),
    )
