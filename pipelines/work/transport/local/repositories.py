"""Repository that the tasks of a line work in, and what their visits committed to it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from pipelines.models import BranchPush, Job, Purpose, Repository, Task, VisitCommit
from pipelines.queries.environments import task_repository_or_none
from pipelines.queries.task_branch import last_known_remote_commit, last_landed_or_pushed_commit_and_tree
from pipelines.routing.document.line import ParsedLine, Station
from pipelines.work.git.refusals import MERGE_CONFLICT
from pipelines.work.spec.repository import GitLeft, GitOrder, GitState
from pipelines.work.transport.local.branch_states import branch_state_before


def git_order_or_none(task: Task, line: ParsedLine, station: Station, job: int) -> GitOrder | None:
    """None where the line works in no repository."""
    workspace = line.workspace
    if workspace is None:
        return None
    repository = task_repository_or_none(task, line)
    if repository is None:
        return GitOrder(problem=_message_of_unconnected_repository(task, line))
    return GitOrder(
        repository=repository.pk,
        name=repository.name,
        address=repository.address,
        default_branch=repository.default_branch,
        base=workspace.base,
        head=workspace.head,
        branch=workspace.branch,
        commit=workspace.commit,
        station=station.name,
        author=station.agent or station.name,
        author_key=station.agent or station.key,
        sensitive=line.sensitive,
        host=repository.host,
        page=repository.page,
        host_app=repository.host_app,
        prepare=repository.prepare,
        joins=station.join is not None,
        pushed_by=BranchPush.objects.filter(job=job).values_list("who", flat=True).first() or "",
    )


def _message_of_unconnected_repository(task: Task, line: ParsedLine) -> str:
    workspace = line.workspace
    assert workspace is not None
    repository_name = task.inputs.get(workspace.input_key) if workspace.input_key else workspace.repository
    if not repository_name:
        return "This task names no repository. Start it again with one."
    return (
        f"The repository {repository_name} is not connected to this project. "
        "Connect it under Settings › Repositories."
    )


def branch_state_for_job(job_id: int) -> GitState:
    """Return the state of the branch before this job."""
    job = Job.objects.select_related("task").get(pk=job_id)
    state = branch_state_before(job)
    if not state.branch:
        return state
    commit, tree = last_landed_or_pushed_commit_and_tree(job.task_id, job.pk)
    pushed = last_known_remote_commit(job.task_id, state.branch, job.pk)
    conflicted = state.moved and _ended_in_conflict(job)
    return replace(state, pushed=pushed, shown=commit, shown_tree=tree, conflicted=conflicted)


def _ended_in_conflict(job: Job) -> bool:
    """Return whether the visit before this one, of the same token, ended for a conflict: then this one
    settles it."""
    before = Job.objects.filter(
        token=job.token_id, purpose=Purpose.STATION, state=Job.State.DONE, pk__lt=job.pk
    )
    failure_type = before.order_by("-pk").values_list("outcome__failure_type", flat=True).first()
    return failure_type == MERGE_CONFLICT


def store_commit_of_visit(job_id: int, task_id: int, git_results: GitLeft, now: datetime) -> None:
    """Store where the branch stands after this visit; again for a repeat."""
    repository = Repository.objects.filter(pk=git_results.repository).first()
    VisitCommit.objects.update_or_create(
        job_id=job_id,
        defaults={
            "task_id": task_id,
            "repository": repository,
            "repository_name": git_results.name,
            "branch": git_results.branch,
            "base_branch": git_results.base_branch,
            "base": git_results.base,
            "head": git_results.head,
            "tree": git_results.tree,
            "pack_id": git_results.pack or None,
            "before": dict(git_results.before),
            "created_at": now,
        },
    )
