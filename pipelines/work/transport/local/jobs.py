"""The database side of a driver: which jobs to drive, and their results. Each function is one or a few short
statements."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable
from datetime import datetime

from django.db import transaction

from pipelines import engine
from pipelines.engine.core.unassigned import UNLEASED
from pipelines.models import Job
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.ports.leases import WorkOffer
from pipelines.ports.terms import QUICK
from pipelines.routing.document.kinds import KINDS, is_instant
from pipelines.work import logs
from pipelines.work.statements import QUEUEING_REQUESTS, SECONDS_FROM_NOW, TAKE_TICKETS
from pipelines.work.transport.local.orders import job_orders_with_handoff, received_handoffs
from pipelines.work.transport.local.station_values import job_values
from pipelines.work.transport.protocol import Started

INSTANT = tuple(key for key, kind in KINDS.items() if kind.instant)


def start_open_job_of_token_or_none(token_id: int, offer: WorkOffer) -> Started | None:
    """Claim the open job of a token, if there is one to be claimed.

    Else the ticket is spent, also where this worker does not serve the job: one that does looks for such jobs by itself
    (`claimable.unattended_jobs`), and tickets that came again would stand before those of work that this one does."""
    waiting = Job.objects.filter(token_id=token_id, state=Job.State.QUEUED).exclude(kind__in=UNLEASED)
    job_id = waiting.values_list("pk", flat=True).first()
    # The ticket is spent in any case: one that came again would stand before those of work that this worker
    # does
    return start_job_or_none(job_id, offer) if job_id is not None else None


# The tickets that it takes are deleted: where nothing can be started they are there again
@transaction.atomic
def start_jobs_without_time(token_id: int | None, offer: WorkOffer, most: int) -> list[Started]:
    """Claim the open jobs of a token and of others whose tickets wait in the queue of work that takes no time: at most
    so many, in one transaction. A ticket of which nothing can start is dealt with as one that came alone."""
    tokens = [token_id] if token_id is not None else []
    tokens += dict.fromkeys(
        row[0]
        for row in fetch(TAKE_TICKETS, {"queue": QUICK, "most": most - len(tokens)})
        if row[0] != token_id
    )
    if not tokens:
        return []
    waiting = Job.objects.filter(token__in=tokens, state=Job.State.QUEUED, kind__in=INSTANT)
    begun = engine.start_claimed_jobs([*waiting.order_by("pk").values_list("pk", flat=True)], offer)
    started = _started_jobs(begun)
    went = {job.token_id for job in begun}
    alone = [start_open_job_of_token_or_none(token, offer) for token in tokens if token not in went]
    return started + [single for single in alone if single is not None]


def database_time_after(seconds: float) -> datetime:
    moment: datetime = fetch(SECONDS_FROM_NOW, [seconds])[0][0]
    return moment


def start_jobs(job_ids: Collection[int], offer: WorkOffer) -> list[Started]:
    """Start the jobs in one transaction; those that cannot start are left out."""
    return _started_jobs(engine.start_claimed_jobs(job_ids, offer))


def start_job_or_none(job_id: int, offer: WorkOffer) -> Started | None:
    job = engine.start_claimed_job_or_none(job_id, offer)
    return next(iter(_started_jobs([job] if job else [])), None)


def _started_jobs(jobs: Collection[Job]) -> list[Started]:
    handoffs, requests = received_handoffs(jobs), request_id_by_queued_job(jobs)
    return [
        Started(
            job_orders_with_handoff(job, handoffs.get(job.pk)),
            job.lease_key,
            job_values(job),
            requests.get(job.pk, ""),
        )
        for job in jobs
        if job.lease_key is not None
    ]


def request_id_by_queued_job(jobs: Iterable[Job]) -> dict[int, str]:
    """{job: the id of the request that queued it}, by one statement. Work that takes no time logs nothing."""
    rows = [(job.pk, job.task_id, job.created_at) for job in jobs if not is_instant(job.kind)]
    columns = [list(column) for column in zip(*rows, strict=True)]
    return dict(fetch(QUEUEING_REQUESTS, columns)) if rows else {}


def jobs_started_by_reports(results: Iterable[engine.ReportResult]) -> dict[int, Started]:
    """{job: what its worker needs} of those that reports handed on, already leased. They are as their batch wrote
    them; what a repeat is about is read again."""
    by_job = {result.next_job_id: result for result in results if result.next_job_id and result.next_lease}
    jobs = [result.following for result in by_job.values() if result.following is not None]
    if again := [pk for pk, result in by_job.items() if result.following is None]:
        jobs += Job.objects.select_related("task__project__owner").filter(
            pk__in=again, state=Job.State.RUNNING
        )
    # After a repeat somebody else may have the job, under another lease
    its = [job for job in jobs if job.lease_key == by_job[job.pk].next_lease]
    return {started.orders.job_id: started for started in _started_jobs(its)}


def requeue_job(job_id: int, attempt: int, lease: uuid.UUID, after: float = 0.0) -> str:
    """Queue the job again without counting an attempt, for a planned stop or to look again later."""
    return engine.requeue_job_and_return_result(job_id, attempt, lease, after)


def requeue_stray_lease(job_id: int, lease: uuid.UUID) -> str:
    """Give back a lease of ours whose job we do not drive, because an answer was lost."""
    attempt = Job.objects.filter(pk=job_id, lease_key=lease).values_list("attempt", flat=True).first()
    # An answer was lost: the server gave us the job, and nobody drives it
    return engine.requeue_job_and_return_result(job_id, attempt, lease) if attempt is not None else "kept"


def append_log(writer: logs.Writer, text: str) -> None:
    writer.append_chunk(text, database_time_after(0))
