"""Data of a receipt of a delivery: read from rows that never change once it has landed."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from django.db.models import QuerySet
from dulwich.objects import Commit, ObjectID
from dulwich.repo import Repo

from pipelines.formats.receipts import (
    SAME_PATCH,
    LandedChange,
    ReceiptApproval,
    ReceiptInvalid,
    SignedVote,
    read_statement,
)
from pipelines.models import Delivery, GateVisit, Job, KeptReceipt, Project, Task, Token, VisitCommit, Vote


def landed_change_or_none(task: Task, job: int = 0) -> LandedChange | None:
    """Return the landed change of the delivery of this job, else of the last one; None where nothing landed."""
    if task.is_purged:
        receipts = KeptReceipt.objects.filter(task=task)
        return _last_kept_change_or_none(receipts.filter(pk=job) if job else receipts)
    landed = _landed_deliveries().filter(task=task)
    return _last_change_or_none(landed.filter(job=job) if job else landed)


def find_landed_change_by_commit(project: Project, commit: str) -> LandedChange | None:
    """Return the landed change with this commit, of a task of the project; None where there is none."""
    # One after the other: hardly any receipt is asked for of a task that was purged
    return _last_change_or_none(
        _landed_deliveries().filter(task__project=project, commit=commit)
    ) or _last_kept_change_or_none(KeptReceipt.objects.filter(task__project=project, commit=commit))


def _last_kept_change_or_none(receipts: QuerySet[KeptReceipt]) -> LandedChange | None:
    receipt = receipts.order_by("-landed_at", "-pk").first()
    return None if receipt is None else read_statement(receipt.statement)


def _landed_deliveries() -> QuerySet[Delivery]:
    return Delivery.objects.filter(landed_at__isnull=False).select_related(
        "task__project__owner", "job__pinned__line", "visit__decided_by", "visit__job"
    )


def _last_change_or_none(deliveries: QuerySet[Delivery]) -> LandedChange | None:
    delivery = deliveries.order_by("-landed_at", "-job").first()
    if delivery is None or delivery.landed_at is None:
        return None
    return LandedChange(
        project=str(delivery.task.project),
        task=delivery.task.name,
        line=delivery.job.pinned.line.key,
        version=delivery.job.pinned.number,
        delivery=delivery.job_id,
        to=delivery.to,
        repository=delivery.repository_name,
        branch=delivery.branch,
        base=delivery.base,
        commit=delivery.commit,
        tree=delivery.landed_tree or delivery.tree,
        at=_utc_text(delivery.landed_at),
        approval=_receipt_approval_or_none(delivery.visit) if delivery.visit else None,
        rebase=SAME_PATCH if delivery.approved else "",
        host=str((delivery.request or {}).get("host", "")) if delivery.way else "",
        # Null where it was cleared before this was kept.
        **(delivery.people or {}),
    )


def check_change_in_repository(change: LandedChange, folder: Path) -> None:
    """Check that the commit of the change is in the repository and has its tree. Raises ReceiptInvalid,

    NotGitRepository."""
    try:
        with closing(Repo(str(folder))) as repository:
            commit = repository.object_store[ObjectID(change.commit.encode())]
    except KeyError as error:
        raise ReceiptInvalid(f"{change.commit} is not in the repository.") from error
    if not isinstance(commit, Commit) or commit.tree.decode() != change.tree:
        raise ReceiptInvalid(f"{change.commit} has another tree in the repository.")


def _receipt_approval_or_none(visit: GateVisit) -> ReceiptApproval | None:
    if visit.decided_at is None:
        return None
    votes = Vote.objects.filter(visit=visit).select_related("user", "stands_for").order_by("at", "pk")
    return ReceiptApproval(
        gate=visit.gate,
        visit=str(visit.pk),
        round=visit.round,
        evidence=visit.evidence_digest,
        tree=str(visit.evidence.get("tree") or _last_tree_committed_before_gate_or_empty(visit)),
        by=visit.decided_by.username if visit.decided_by else "",
        at=_utc_text(visit.decided_at),
        votes=[
            *(
                SignedVote(_voter_text(vote), vote.word, vote.evidence_digest, _utc_text(vote.at))
                for vote in votes
            ),
            *_override_votes(visit),
        ],
    )


def _voter_text(vote: Vote) -> str:
    """A user name has no spaces, so that no other can be taken for the two."""
    stood_for = f" in place of {vote.stands_for.username}" if vote.stands_for else ""
    chat = f" in the chat {vote.chat}" if vote.chat else ""
    return f"{vote.user.username}{stood_for}{chat}"


def _override_votes(visit: GateVisit) -> list[SignedVote]:
    """Return the override that approved the visit instead of the votes that the gate asks for."""
    if not (visit.overridden and visit.decided_by and visit.decided_at):
        return []
    return [
        SignedVote(visit.decided_by.username, "override", visit.evidence_digest, _utc_text(visit.decided_at))
    ]


def _last_tree_committed_before_gate_or_empty(visit: GateVisit) -> str:
    """Return the tree of the last commit before this gate, for evidence that names none: what people saw,
    whatever the delivery was cleared for. "" if there is none."""
    way: list[int] = []
    here: int | None = visit.token_id
    # What was committed in the branches from which this one was forked counts as well
    while here is not None:
        way.append(here)
        here = Token.objects.values_list("parent_id", flat=True).get(pk=here)
    commits = VisitCommit.objects.filter(
        task=visit.task_id,
        job__token__in=way,
        job__state=Job.State.DONE,
        job__ended_at__lte=visit.job.ended_at,
    )
    return commits.order_by("-job__ended_at", "-job_id").values_list("tree", flat=True).first() or ""


def _utc_text(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
