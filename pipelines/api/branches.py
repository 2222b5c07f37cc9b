"""The branch of a task over HTTP: where it is, and its commits, for whoever goes on with it by hand (law §15)."""

from __future__ import annotations

import tempfile
from functools import partial

from django.http import FileResponse
from pydantic import BaseModel

from pipelines.api.auth import Request
from pipelines.api.lookup import TASK, Operations
from pipelines.errors import Conflict
from pipelines.models import Task
from pipelines.queries.task_branch import MOST_PACKED, TaskBranch, pack_bytes_by_name, task_branch_or_none
from pipelines.work import storage
from pipelines.work.git import bundles

router = Operations("tasks", (401, 403, 404, 409))
HERE = TASK + "/branch"


class BranchOut(BaseModel):
    """`address` of the repository, "" where it is not connected any more; `branch` with the commit `head`, on top of
    `base`, a commit of `base_branch`. `pushed`: the commit at which the branch stands on the remote as far as is known,
    "" where nobody pushed it: then its commits come with `bundle`."""

    repository: str
    address: str
    branch: str
    base_branch: str
    base: str
    head: str
    pushed: str


@router.get(HERE, response=BranchOut, summary="The branch of a task")
def show_branch(request: Request, task: Task) -> BranchOut:
    """409 where no station has worked in a repository yet."""
    branch = _get_branch_or_conflict(task)
    return BranchOut(
        repository=branch.repository,
        address=branch.address,
        branch=branch.name,
        base_branch=branch.base_branch,
        base=branch.base,
        head=branch.head,
        pushed=branch.pushed,
    )


@router.get(HERE + "/bundle", response={200: None}, summary="Its commits, as a git bundle")
def download_branch_bundle(request: Request, task: Task) -> FileResponse:
    """Return the bundle for `git fetch <file> <branch>` in a clone that has `base`. 409 where nothing was
    committed, or beyond 64 MB."""
    branch, packs = _get_branch_or_conflict(task), pack_bytes_by_name(task)
    if not packs or not branch.has_changes:
        raise Conflict(f"Nothing was committed yet: the branch is at {branch.base}.")
    if sum(packs.values()) > MOST_PACKED:
        raise Conflict("It is larger than 64 MB. Let the line push the branch, and fetch it from there.")
    # FileResponse closes it, and so removes it.
    file = tempfile.TemporaryFile(prefix="bundle-")  # noqa: SIM115
    bundles.write_bundle(
        packs, partial(storage.copy_stored_bytes, storage.artifact_storage()), branch.name, branch.head, file
    )
    file.seek(0)
    return FileResponse(
        file, as_attachment=True, filename=f"{task.name}.bundle", content_type="application/x-git-bundle"
    )


def _get_branch_or_conflict(task: Task) -> TaskBranch:
    branch = task_branch_or_none(task)
    if branch is None:
        raise Conflict("No station of this task has worked in a repository yet.")
    return branch
