"""What a receipt says of a delivery: read from rows that never change once it has landed."""

from __future__ import annotations

from datetime import UTC, datetime

from pipelines.formats.receipts import LandedChange, ReceiptApproval, SignedVote
from pipelines.models import Delivery, GateVisit, Task, Vote


def landed_change(task: Task, job: int = 0) -> LandedChange | None:
    """Of the delivery of this job, else of the last one; None where nothing landed."""
    landed = Delivery.objects.filter(task=task, landed_at__isnull=False).select_related(
        "job__pinned__line", "visit__decided_by"
    )
    each = (landed.filter(job=job) if job else landed).order_by("-landed_at", "-job").first()
    if each is None or each.landed_at is None:
        return None
    return LandedChange(
        project=str(task.project),
        task=task.name,
        line=each.job.pinned.line.key,
        version=each.job.pinned.number,
        delivery=each.job_id,
        to=each.to,
        repository=each.repository_name,
        branch=each.branch,
        base=each.base,
        commit=each.commit,
        tree=each.tree,
        at=_moment(each.landed_at),
        approval=_approval(each.visit, each.tree) if each.visit else None,
    )


def _approval(visit: GateVisit, cleared: str) -> ReceiptApproval | None:
    """`tree`: the one in the evidence that people saw; of evidence without one, that which the delivery was `cleared`
    for."""
    if visit.decided_at is None:
        return None
    votes = Vote.objects.filter(visit=visit).select_related("user").order_by("at", "pk")
    return ReceiptApproval(
        gate=visit.gate,
        visit=str(visit.pk),
        round=visit.round,
        evidence=visit.evidence_digest,
        tree=str(visit.evidence.get("tree") or cleared),
        by=visit.decided_by.username if visit.decided_by else "",
        at=_moment(visit.decided_at),
        votes=[
            SignedVote(each.user.username, each.word, each.evidence_digest, _moment(each.at))
            for each in votes
        ],
    )


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
