"""The fence (law §5 step 1): what may be recorded, what is repeated, what is ignored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from pipelines.engine.core.batch import Batch
from pipelines.engine.core.unassigned import UNLEASED
from pipelines.engine.core.values import Report, ReportResult
from pipelines.engine.statements import COUNT_IGNORED
from pipelines.models import ENDED, Job, Token
from pipelines.models.plumbing.compiled_queries import fetch

Key = tuple[int, int, str]


def refusal_or_repeated_answer_or_none(batch: Batch, report: Report, digest: str) -> ReportResult | None:
    """Return None if the report is to be recorded; otherwise the answer to give, and nothing moves."""
    job = batch.jobs.get(report.job_id)
    if job is None:
        return ReportResult("not_found", 404, "There is no such job.")
    same = (job.attempt, job.lease_key) == (report.attempt, report.lease)
    if job.state == Job.State.DONE:
        # law §5 step 1: an identical repeat gets the first answer, another payload 409.
        if same and job.report_digest == digest:
            return answer_of_first_report(job)
        return _conflict_result("conflict" if same else "ignored", job)
    if not same or not _is_report_of_open_job(batch, job, report):
        return _conflict_result("ignored", job)
    return None


def _is_report_of_open_job(batch: Batch, job: Job, report: Report) -> bool:
    token = batch.tokens.get(job.token_id)
    # None where it has ended: only living tokens are loaded
    if token is None or token.status in ENDED or job.state != Job.State.RUNNING:
        return False
    # law §1: a manual job has no lease; the report names the version of the token instead.
    if job.kind in UNLEASED:
        return report.token_version == token.version
    # A report without a lease is a person's (law §1), who closes no job of a worker
    return report.lease is not None


def _conflict_result(status: Any, job: Job) -> ReportResult:
    why = {
        "conflict": "Another outcome of this attempt was recorded first.",
        "ignored": "This is not the open job of its task: the attempt is over, or was never this one.",
    }
    return ReportResult(status, 409, why[status])


def answer_of_first_report(job: Job) -> ReportResult:
    """The answer that the recorded report got."""
    answer = dict(job.report_answer or {})
    lease = answer.pop("next_lease", None)
    return replace(
        ReportResult("accepted", 200), **answer, next_lease=UUID(lease) if lease else None, status="repeated"
    )


def answer_to_store(result: ReportResult) -> dict[str, Any]:
    """Return the answer as it is stored with the job, for a report that is repeated."""
    return {
        "decision": result.decision,
        "next_job_id": result.next_job_id,
        "next_lease": str(result.next_lease) if result.next_lease else None,
    }


def record_ignored_reports(batch: Batch, ignored: list[tuple[Report, str]]) -> None:
    """Record reports that are ignored: an event `job.ignored` once per job, attempt and digest, after that only
    a counter."""
    counts: dict[Key, int] = {}
    by: dict[Key, str] = {}
    for report, digest in ignored:
        key = (report.job_id, report.attempt, digest)
        counts[key] = counts.get(key, 0) + 1
        by.setdefault(key, report.by)
    for key in sorted(_count_ignored_and_return_new(counts)):
        job = batch.jobs[key[0]]
        batch.append_event(
            batch.tasks[job.task_id],
            "job.ignored",
            by[key],
            # It may have ended, and is not loaded then; the event needs no more than its id
            token=Token(pk=job.token_id),
            source=job.station,
            target=job.station,
            trigger=f"report:{job.pk}.{key[1]}",
            report={"job": job.pk, "attempt": key[1], "digest": key[2]},
        )


def _count_ignored_and_return_new(counts: dict[Key, int]) -> list[Key]:
    if not counts:
        return []
    columns = [list(column) for column in zip(*counts, strict=True)]
    return [
        (job, attempt, digest)
        for job, attempt, digest, first in fetch(COUNT_IGNORED, [*columns, list(counts.values())])
        if first
    ]
