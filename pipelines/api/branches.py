"""The branch of a task over HTTP: where it is, and its commits, for whoever goes on with it by hand (law §15)."""

from __future__ import annotations

import tempfile
from functools import partial

from django.http import FileResponse
from django.utils.translation import gettext as _
from ninja import Router
from pydantic import BaseModel

from pipelines import access
from pipelines.api.auth import Request
from pipelines.api.lookup import TASK
from pipelines.api.problems import ProblemOut
from pipelines.errors import Conflict
from pipelines.models import Task
from pipelines.queries.task_branch import MOST_PACKED, TaskBranch, branch_of, packs_of
from pipelines.work import storage
from pipelines.work.git import bundles

router = Router(tags=["tasks"])
HERE = TASK + "/branch"
ERRORS = dict.fromkeys((401, 403, 404, 409), ProblemOut)


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


@router.get(HERE, response={200: BranchOut, **ERRORS}, summary="The branch of a task")
def show(request: Request, owner: str, project: str, line: str, task: str) -> BranchOut:
    """409 where no station has worked in a repository yet."""
    _task, branch = _branch(request, owner, project, line, task)
    return BranchOut(
        repository=branch.repository,
        address=branch.address,
        branch=branch.name,
        base_branch=branch.base_branch,
        base=branch.base,
        head=branch.head,
        pushed=branch.pushed,
    )


@router.get(HERE + "/bundle", response={200: None, **ERRORS}, summary="Its commits, as a git bundle")
def bundle(request: Request, owner: str, project: str, line: str, task: str) -> FileResponse:
    """For `git fetch <file> <branch>` in a clone that has `base`. 409 where nothing was committed, or beyond 64 MB."""
    found, branch = _branch(request, owner, project, line, task)
    packs = packs_of(found)
    if not packs or not branch.changed:
        raise Conflict(_("Nothing was committed yet: the branch is at %(base)s.") % {"base": branch.base})
    if sum(packs.values()) > MOST_PACKED:
        raise Conflict(_("It is larger than 64 MB. Let the line push the branch, and fetch it from there."))
    file = tempfile.TemporaryFile(prefix="bundle-")  # noqa: SIM115
    bundles.write(packs, partial(storage.fetch, storage.artifacts()), branch.name, branch.head, file)
    file.seek(0)
    return FileResponse(
        file, as_attachment=True, filename=f"{found.name}.bundle", content_type="application/x-git-bundle"
    )


def _branch(request: Request, owner: str, project: str, line: str, task: str) -> tuple[Task, TaskBranch]:
    found = access.get_task(request.auth, owner, project, line, task)
    access.require(request.auth, "view", found.project)
    branch = branch_of(found)
    if branch is None:
        raise Conflict(_("No station of this task has worked in a repository yet."))
    return found, branch
