"""Which repository the tasks of a line work in, and where the branch of a task stands: of its own token and those that
it came from."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from pipelines.models import Delivery, Job, Repository, Task, Token, VisitCommit
from pipelines.routing.document.line import Line, Station
from pipelines.work.spec.repository import GitLeft, GitOrder, GitState


def repository_of(task: Task, line: Line) -> Repository | None:
    """The one that the line names, or that an input names by its address or name."""
    workspace = line.workspace
    if workspace is None:
        return None
    connected = Repository.objects.filter(project=task.project_id).order_by("pk")
    if not workspace.input:
        return connected.filter(name=workspace.repository).first()
    said = str(task.inputs.get(workspace.input) or "")
    return connected.filter(address=said).first() or connected.filter(name=said).first()


def git_order(task: Task, line: Line, station: Station) -> GitOrder | None:
    """None where the line works in no repository."""
    workspace = line.workspace
    if workspace is None:
        return None
    found = repository_of(task, line)
    if found is None:
        return GitOrder(problem=_not_connected(task, line))
    return GitOrder(
        repository=found.pk,
        name=found.name,
        address=found.address,
        default_branch=found.default_branch,
        base=workspace.base,
        branch=workspace.branch,
        commit=workspace.commit,
        station=station.name,
        author=station.agent or station.name,
        author_key=station.agent or station.key,
        sensitive=line.sensitive,
        host=found.host,
        page=found.page,
        host_app=found.host_app,
    )


def _not_connected(task: Task, line: Line) -> str:
    workspace = line.workspace
    assert workspace is not None
    said = task.inputs.get(workspace.input) if workspace.input else workspace.repository
    if not said:
        return "This task names no repository. Start it again with one."
    return f"The repository {said} is not connected to this project. Connect it under Settings, Repositories."


def git_state(job_id: int) -> GitState:
    """Before this job."""
    job = Job.objects.select_related("task").get(pk=job_id)
    return standing(job, below=job.pk)


def standing(job: Job, below: int | None = None) -> GitState:
    """After this job, or before the one with the number `below`."""
    tokens = chain(job.token_id)
    rows = [row for row in _commits(job.task, tokens) if row.job_id < (below or job.pk + 1)]
    if not rows:
        return _retried(job.task)
    last = rows[-1]
    before = _retried(job.task)
    moved = Delivery.objects.filter(task=job.task_id, job__token__in=tokens, job__gt=last.job_id, moved=True)
    return GitState(
        branch=last.branch,
        base_branch=last.base_branch,
        base=last.base,
        head=last.head,
        tree=last.tree,
        packs=(*before.packs, *(row.pack.name for row in rows if row.pack)),
        moved=moved.exists(),
    )


def chain(token_id: int) -> list[int]:
    """The token and those that it was forked from."""
    found: list[int] = []
    here: int | None = token_id
    while here is not None:
        found.append(here)
        here = Token.objects.values_list("parent_id", flat=True).get(pk=here)
    return found


def _commits(task: Task, tokens: Collection[int]) -> list[VisitCommit]:
    rows = VisitCommit.objects.filter(task=task.pk, job__token__in=tokens, job__state=Job.State.DONE)
    return list(rows.select_related("pack").order_by("job_id"))


def _retried(task: Task) -> GitState:
    """A retry begins where the visit that it repeats stood at the end of its task, on a branch of its own."""
    if task.retry_of is None:
        return GitState()
    before = standing(task.retry_of, below=2**63)
    return GitState(
        base_branch=before.base_branch,
        base=before.base,
        head=before.head,
        tree=before.tree,
        packs=before.packs,
    )


def keep_commit(job_id: int, task_id: int, left: GitLeft, now: datetime) -> None:
    """Where the branch stands after this visit; again for a repeat."""
    repository = Repository.objects.filter(pk=left.repository).first()
    VisitCommit.objects.update_or_create(
        job_id=job_id,
        defaults={
            "task_id": task_id,
            "repository": repository,
            "repository_name": left.name,
            "branch": left.branch,
            "base_branch": left.base_branch,
            "base": left.base,
            "head": left.head,
            "tree": left.tree,
            "pack_id": left.pack or None,
            "before": dict(left.before),
            "created_at": now,
        },
    )
