"""The branch that a task works on, and what of it was delivered: as the rows say that its worker's commits left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pipelines.models import BranchPush, Delivery, Job, Task, VisitCommit
from pipelines.routing.document.kinds.deliver import MERGE

MOST_PACKED = 64 * 1024**2
"""Bytes of packs that are handed out as one bundle."""


@dataclass(frozen=True)
class TaskBranch:
    """`files`, `added` and `removed` are against the base; None where nobody counted. `address`: of the repository, ""
    where it is not connected any more; `pushed`: where the branch stands on the remote, as far as is known."""

    repository: str
    address: str
    name: str
    base_branch: str
    base: str
    head: str
    pushed: str
    files: int | None
    added: int | None
    removed: int | None

    @property
    def has_changes(self) -> bool:
        return self.base != self.head


@dataclass(frozen=True)
class RequestLink:
    """A pull or merge request, such as #7 or !7."""

    name: str
    url: str


@dataclass(frozen=True)
class DeliveryReceipt:
    """Receipt of what landed. `gate`: which approved exactly this tree, as was checked under the lock of the
    task before anything was pushed (law §15); "" where the delivery named none. `approved`: the tree that
    people approved, where the same change landed as another on a base that moved; else "". `host`: which
    merged it, by its own call or queue; `as_approved`: whether its files are those that were cleared, or
    the host's. `too_large_refusal`: {files, bytes} of what is more than a person can read, else empty.
    `overridden`: by an administrator, instead of the people that the gate asks; `by` is "" where its due
    time approved it."""

    repository: str
    to: str
    branch: str
    commit: str
    tree: str
    gate: str
    by: str
    at: datetime
    request: RequestLink | None = None
    job: int = 0
    approved: str = ""
    host: str = ""
    as_approved: bool = True
    too_large: Mapping[str, int] = field(default_factory=dict)
    overridden: bool = False

    @property
    def is_exactly_as_approved(self) -> bool:
        return bool(self.gate) and not self.approved and self.as_approved


def task_branch_or_none(task: Task) -> TaskBranch | None:
    """Return the branch of the task, as it stands after the last visit that was reported."""
    last = (
        VisitCommit.objects.filter(task=task, job__state=Job.State.DONE)
        .select_related("job", "repository")
        .order_by("-job_id")
        .first()
    )
    if last is None:
        return None
    facts: dict[str, Any] = ((last.job.outcome or {}).get("facts") or {}).get("git", {})
    return TaskBranch(
        last.repository_name,
        last.repository.title if last.repository else "",
        last.branch,
        last.base_branch,
        last.base,
        last.head,
        last_known_remote_commit(task.pk, last.branch),
        facts.get("files_changed"),
        facts.get("insertions"),
        facts.get("deletions"),
    )


def last_landed_or_pushed_commit_and_tree(task: int, before: int) -> tuple[str, str]:
    """Return the commit that was pushed or merged last before this job, by a delivery or by people, and its
    tree."""
    landed = Delivery.objects.filter(task=task, landed_at__isnull=False, job__lt=before).order_by("-job")
    pushes = VisitCommit.objects.filter(
        task=task, job__branch_push__isnull=False, job__state=Job.State.DONE, job__lt=before
    ).order_by("-job")
    commits = [
        *landed.values_list("job", "commit", "tree")[:1],
        *pushes.values_list("job", "head", "tree")[:1],
    ]
    # The first of each is its job: the later one counts.
    _job, commit, tree = max(commits, default=(0, "", ""))
    return commit, tree


def last_known_remote_commit(task: int, branch: str, before: int | None = None) -> str:
    """The commit at which the branch of a task stands on the remote as far as Gateline knows: as a delivery, or the
    visit of somebody who pushed, left it; of jobs before this one. "" where nobody pushed it."""
    landed = Delivery.objects.filter(task=task, branch=branch, landed_at__isnull=False).exclude(to=MERGE)
    proposed = Delivery.objects.filter(task=task).exclude(head="")
    pushes = VisitCommit.objects.filter(
        task=task, branch=branch, job__branch_push__isnull=False, job__state=Job.State.DONE
    )
    if before is not None:
        landed, pushes = landed.filter(job__lt=before), pushes.filter(job__lt=before)
        proposed = proposed.filter(job__lt=before)
    pushed = [*landed.order_by("-job").values_list("job", "commit")[:1]]
    pushed += proposed.order_by("-job").values_list("job", "head")[:1]
    pushed += pushes.order_by("-job").values_list("job", "head")[:1]
    # The first of each is its job: the latest one counts.
    return max(pushed, default=(0, ""))[1]


@dataclass(frozen=True)
class PeoplePush:
    """Push to a branch by people. `who`: as the host or the commits name them. `people`: names of the members
    that this is or may be. `proven`: the host vouches for it."""

    who: str
    commit: str
    people: list[str]
    proven: bool


def pushes_by_people(task: Task, until: datetime | None = None) -> list[PeoplePush]:
    """Return the pushes of people to the branch of a task, the oldest first; `until`: by then."""
    rows = BranchPush.objects.filter(task=task).order_by("job").prefetch_related("people")
    rows = rows if until is None else rows.filter(at__lte=until)
    return [
        PeoplePush(push.who, push.commit, [str(one) for one in push.people.all()], push.by_host)
        for push in rows
    ]


def pack_bytes_by_name(task: Task) -> dict[str, int]:
    """{name in the storage: bytes} of all that its visits committed, the oldest first, and of the task that it
    retries."""
    task_ids: list[int] = []
    here: int | None = task.pk
    while here is not None:
        task_ids.append(here)
        here = Task.objects.filter(pk=here).values_list("retry_of__task_id", flat=True).first()
    rows = VisitCommit.objects.filter(task__in=task_ids, job__state=Job.State.DONE, pack__isnull=False)
    return dict(rows.order_by("job_id").values_list("pack__name", "pack__size"))


def receipts_of_task(task: Task) -> list[DeliveryReceipt]:
    """Return the receipts of what landed, the latest first."""
    landed = Delivery.objects.filter(task=task, landed_at__isnull=False).order_by("-landed_at")
    return [_delivery_receipt(delivery) for delivery in landed.select_related("visit__decided_by")]


def _delivery_receipt(delivery: Delivery) -> DeliveryReceipt:
    visit = delivery.visit
    assert delivery.landed_at is not None
    return DeliveryReceipt(
        repository=delivery.repository_name,
        to=delivery.to,
        branch=delivery.branch,
        commit=delivery.commit,
        tree=delivery.landed_tree or delivery.tree,
        gate=visit.gate if visit else "",
        by=str(visit.decided_by) if visit and visit.decided_by else "",
        at=delivery.landed_at,
        request=RequestLink(
            f"{delivery.request['sign']}{delivery.request['number']}", delivery.request["url"]
        )
        if delivery.request
        else None,
        job=delivery.job_id,
        approved=delivery.approved,
        host=delivery.way and str((delivery.request or {}).get("host", "")),
        as_approved=delivery.landed_tree in ("", delivery.tree),
        too_large=(delivery.people or {}).get("too_large_to_read", {}),
        overridden=visit is not None and visit.overridden,
    )
