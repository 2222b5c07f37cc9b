"""DeliveryPermission of a delivery, under the lock of its task: exactly the tree that its gate approved (law §15)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction

from pipelines import engine
from pipelines.formats.evidence.trees.change_size import files_and_bytes_if_oversized
from pipelines.models import Delivery, GateVisit, HostLink, Job, Repository, Snapshot, Task, VisitCommit, Word
from pipelines.ports.code_host_notices import STATUS, enqueue_new_notices_and_every_status
from pipelines.queries import delivery_queue, versions
from pipelines.queries.environments import task_repository_or_none
from pipelines.queries.four_eyes import were_versions_published_by_two
from pipelines.queries.protections import repository_protection
from pipelines.queries.reverted import tasks_reverted_by
from pipelines.queries.same_patch_approvals import same_patch_approval_or_none
from pipelines.queries.task_branch import last_known_remote_commit
from pipelines.routing.document.kinds.deliver import MERGE, PUSH, REQUEST
from pipelines.routing.document.line import ParsedLine
from pipelines.work.git.refusals import NOT_APPROVED, NOTHING_DONE, PREPARE_FAILED, PUSH_REFUSED
from pipelines.work.spec.repository import AtHost, DeliveryPermission, GitState
from pipelines.work.transport.local.branch_states import (
    BranchStates,
    branch_state_after,
    branch_state_before,
    token_and_ancestors,
)
from pipelines.work.transport.local.delivery_approvals import (
    ids_of_versions_worked_by_before,
    involved_people,
    missing_approvals_sentence_or_empty,
    receipt_people,
)
from pipelines.work.transport.local.host_access import host_key_or_empty
from pipelines.work.transport.local.request_text import request_text
from pipelines.work.transport.local.stored_results import lock_lease_and_read_time
from pipelines.work.transport.local.workspace_history import task_trees


@transaction.atomic
def permit_or_refuse_delivery(job_id: int, lease: uuid.UUID) -> DeliveryPermission:
    """The same answer for every attempt of the job. Deliveries to one branch are cleared one after the other: `wait`
    while another one is under way. :raises LeaseLost"""
    job = Job.objects.select_related("task").get(pk=job_id)
    # no_key: rows that only refer to the task can still be inserted
    task = Task.objects.select_for_update(no_key=True, of=("self",)).get(pk=job.task_id)
    now = lock_lease_and_read_time(job_id, lease)
    line = versions.parsed_line_by_version_id(job.pinned_id)
    work = line.station(job.station).work
    repository, state = task_repository_or_none(task, line), branch_state_before(job)
    gate_key = str(work.get("gate") or "")
    # Law §15, Delivery: approved on exactly this tree, however the token came here
    visit, of = approving_visit_and_reason_against(job, gate_key, state) if gate_key else (None, "")
    gate = line.gates_by_key.get(gate_key)
    if (refused := _refusal_or_none(repository, state)) is not None:
        return refused
    assert repository is not None
    if gate_key and visit is None:
        name = gate.name if gate else gate_key
        why = f"{name} has not approved exactly these files, so nothing was delivered."
        return DeliveryPermission(f"{why} Have the change approved as it is now.", NOT_APPROVED)
    to = str(work.get("to") or MERGE)
    branch, onto = (
        (state.base_branch, state.base)
        if to == MERGE
        else (state.branch, last_known_remote_commit(task.pk, state.branch, job.pk))
    )
    protection, involved = repository_protection(repository), involved_people(task, line)
    # Law §15, Protection: beside the gate, what the repository asks for
    approvals, earlier = (
        (_approving_visits(job, line, state), ids_of_versions_worked_by_before(task))
        if protection
        else ([], set())
    )
    by_two = partial(were_versions_published_by_two, line, repository)
    lacks = missing_approvals_sentence_or_empty(
        protection, approvals, involved, by_two, job.pinned_id, *earlier
    )
    # A request on the task's own branch changes nothing yet: it says what is missing
    if lacks and (to != REQUEST or not _is_new_or_own_branch(task, branch, onto)):
        why = f"{repository.name} is protected. Missing: {lacks}. Requester and producers do not count."
        return DeliveryPermission(f"{why} Have exactly these files approved by others.", NOT_APPROVED)
    if to == MERGE:
        # Held until the row below is written: two deliveries would both find the branch free
        delivery_queue.lock_delivery_queue(repository.pk, branch)
        if wait := delivery_queue.seconds_until_delivery_looks_again(job, repository.pk, branch):
            return DeliveryPermission(wait=wait)
    # A later attempt gets what the first was cleared for
    made, _new = Delivery.objects.get_or_create(
        job=job,
        defaults={
            "task": task,
            "repository": repository,
            "repository_name": repository.name,
            "visit": visit,
            "to": to,
            "branch": branch,
            "base": onto,
            "tree": state.tree,
            "approved": of,
            "cleared_at": now,
        },
    )
    people = receipt_people(task, involved, protection) | amount_too_large_to_read(job)
    # What landed keeps its receipt
    if made.landed_at is None and made.people != people:
        made.people = people
        made.save(update_fields=["people"])
    return DeliveryPermission(
        at=int(made.cleared_at.timestamp()),
        branch=made.branch,
        onto=made.base,
        tree=made.tree,
        gate=gate.name if gate else "",
        approval=str(made.visit_id or ""),
        request=request_text(job, line, lacks)
        if to == REQUEST or (to == MERGE and host_key_or_empty(repository))
        else None,
        at_host=AtHost(made.head, made.way, made.at_host, made.request) if made.way else None,
    )


def _refusal_or_none(repository: Repository | None, state: GitState) -> DeliveryPermission | None:
    if repository is None:
        return DeliveryPermission("The repository is no longer connected to this project.", PREPARE_FAILED)
    if repository.pushing == Repository.Pushing.NOBODY:
        return DeliveryPermission(
            f"No line may push to {repository.name}. An admin changes that under Settings › Repositories.",
            PUSH_REFUSED,
        )
    if state.joined:
        return DeliveryPermission(
            "The branches that met have not been merged, so nothing was delivered. Join them at a station before it.",
            NOT_APPROVED,
        )
    if not state.head:
        return DeliveryPermission("No station has worked in the repository yet.", NOTHING_DONE)
    return None


def _is_new_or_own_branch(task: Task, branch: str, onto: str) -> bool:
    """Say whether a branch is new, or began with this task: a request brings nothing to any other."""
    return not onto or Delivery.objects.filter(task=task, branch=branch, landed_at__isnull=False).exists()


def _approving_visits(job: Job, line: ParsedLine, state: GitState) -> list[GateVisit]:
    """The visits that approved exactly this tree, at whichever gates."""
    keys = GateVisit.objects.filter(task=job.task_id, state=GateVisit.State.DECIDED).order_by("gate")
    visits = (
        approving_visit_and_reason_against(job, key, state)[0]
        for key in keys.values_list("gate", flat=True).distinct()
    )
    return [visit for visit in visits if visit is not None and visit.gate in line.gates_by_key]


def approving_visit_and_reason_against(job: Job, gate: str, state: GitState) -> tuple[GateVisit | None, str]:
    """Return the visit of this gate that approved exactly this tree, on the way of this token, or None. Where
    the approval is of the same patch on another base, also the tree that was approved; else ""."""
    visits = GateVisit.objects.filter(
        task=job.task_id,
        gate=gate,
        token__in=token_and_ancestors(job.token_id),
        state=GateVisit.State.DECIDED,
    )
    last = visits.select_related("job__task").order_by("-decided_at").first()
    # The last word counts: an approval that was followed by another word stands no longer
    if last is None or last.word != Word.APPROVE or not state.tree or not _are_files_committed(last.job):
        return None, ""
    if branch_state_after(last.job).tree == state.tree:
        return last, ""
    stands = same_patch_approval_or_none(
        versions.parsed_line_by_version_id(job.pinned_id), job, gate, delivers=True
    )
    if stands is None or (stands.visit, stands.tree, stands.base) != (last, state.tree, state.base):
        return None, ""
    return last, stands.approved


def _are_files_committed(job: Job) -> bool:
    """Return whether the files that people saw after this job are those of a commit: no other files stand for
    it."""
    done = {
        "task": job.task_id,
        "job__token__in": token_and_ancestors(job.token_id),
        "job__state": Job.State.DONE,
    }
    snapshots = Snapshot.objects.filter(**done, job__ended_at__lte=job.ended_at or job.created_at)
    last = snapshots.select_related("job").order_by("-job__ended_at", "-job_id").first()
    if last is None:
        return True
    since = last.job.ended_at or last.job.created_at
    return VisitCommit.objects.filter(**done, job__ended_at__range=(since, job.ended_at or since)).exists()


@transaction.atomic
def record_delivered(
    job_id: int,
    lease: uuid.UUID,
    commit: str,
    request: Mapping[str, Any] | None = None,
    base: str | None = None,
) -> None:
    """It landed as this commit. `request` {host, number, url}: the one that is open
    for it. `base`: where the branch stood before. :raises LeaseLost"""
    task_id = Job.objects.values_list("task_id", flat=True).get(pk=job_id)
    Task.objects.select_for_update(no_key=True, of=("self",)).get(pk=task_id)
    now = lock_lease_and_read_time(job_id, lease)
    known = {} if base is None else {"base": base}
    # Told again, it keeps the moment at which it landed
    landing = Delivery.objects.filter(job=job_id, landed_at=None)
    if landing.update(commit=commit, landed_at=now, moved=False, **known):
        engine.ask_about_every_task_after_revert(tasks_reverted_by(job_id), now)
    if request is None:
        _link_branch(Delivery.objects.select_related("repository").get(job=job_id), now)
    else:
        Delivery.objects.filter(job=job_id).update(request=dict(request))
        _link_request(Delivery.objects.select_related("repository").get(job=job_id), request, now)


@transaction.atomic
def record_host_progress(job_id: int, lease: uuid.UUID, host_state: AtHost) -> None:
    """Store how far a delivery came through its host. :raises LeaseLost"""
    task_id = Job.objects.values_list("task_id", flat=True).get(pk=job_id)
    Task.objects.select_for_update(no_key=True, of=("self",)).get(pk=task_id)
    now = lock_lease_and_read_time(job_id, lease)
    rows = Delivery.objects.filter(job=job_id)
    known = {} if host_state.request is None else {"request": dict(host_state.request)}
    rows.update(way=host_state.way, head=host_state.head, at_host=host_state.waits, **known)
    if host_state.commit:
        landing = rows.filter(landed_at=None)
        if landing.update(
            commit=host_state.commit, landed_tree=host_state.tree, landed_at=now, moved=False, at_host=False
        ):
            engine.ask_about_every_task_after_revert(tasks_reverted_by(job_id), now)
    if host_state.request is not None:
        _link_request(rows.select_related("repository").get(), host_state.request, now)


@transaction.atomic
def record_base_moved(job_id: int, lease: uuid.UUID, onto: str, tree: str) -> None:
    """The branch stands elsewhere. `tree`: what the approved change makes of that, as the worker that delivers found in
    its mirror; "" where it is not the same change. :raises LeaseLost"""
    task_id = Job.objects.values_list("task_id", flat=True).get(pk=job_id)
    Task.objects.select_for_update(no_key=True, of=("self",)).get(pk=task_id)
    lock_lease_and_read_time(job_id, lease)
    Delivery.objects.filter(job=job_id).update(moved=True, moved_to=onto, kept_tree=tree)


def seconds_to_wait_for_other_delivery(job_id: int) -> float:
    """Seconds after which to look again, while another delivery to the branch comes first; else 0.0."""
    job = Job.objects.select_related("task").get(pk=job_id)
    line = versions.parsed_line_by_version_id(job.pinned_id)
    repository = task_repository_or_none(job.task, line)
    if repository is None or str(line.station(job.station).work.get("to") or MERGE) != MERGE:
        return 0.0
    return delivery_queue.seconds_until_delivery_looks_again(
        job, repository.pk, branch_state_before(job).base_branch
    )


def _link_branch(delivery: Delivery, now: datetime) -> None:
    """Link a delivery that was only pushed: it has no request, and its last commit still says what is
    missing."""
    repository = delivery.repository
    if (
        delivery.to != PUSH
        or repository is None
        or not repository.name_of_host_secret
        or not host_key_or_empty(repository)
    ):
        return
    if HostLink.objects.filter(task=delivery.task_id, kind=HostLink.LinkKind.REQUEST).exists():
        return
    link, _new = HostLink.objects.get_or_create(
        task_id=delivery.task_id,
        kind=HostLink.LinkKind.BRANCH,
        number=0,
        defaults={"repository": repository, "sign": "", "url": repository.page},
    )
    enqueue_new_notices_and_every_status([(link, STATUS)], now)


def _link_request(delivery: Delivery, request: Mapping[str, Any], now: datetime) -> None:
    """The task belongs to the request from now on: what happens to it is told there."""
    link, _new = HostLink.objects.get_or_create(
        task_id=delivery.task_id,
        kind=HostLink.LinkKind.REQUEST,
        number=request["number"],
        defaults={"repository": delivery.repository, "sign": request["sign"], "url": request["url"]},
    )
    enqueue_new_notices_and_every_status([(link, STATUS)], now)


# The amount of what a task delivers, for its receipt, where no person can have read all of it (law §6).


def amount_too_large_to_read(job: Job) -> dict[str, Any]:
    """{too_large_to_read: {files, bytes}} of what a delivery brings, else empty. `job` with its task loaded."""
    before = BranchStates(job.task).base_entries_of_changed_files_or_none(job.token_id, job.created_at) or {}
    _digest, manifest = task_trees(job.task_id).digest_and_manifest_at_or_none(
        job.token_id, job.created_at
    ) or ("", ())
    now = {str(entry["path"]): entry for entry in manifest}
    amount = files_and_bytes_if_oversized(
        (old, now.get(path)) for path, old in before.items() if old != now.get(path)
    )
    return {"too_large_to_read": amount} if amount else {}
