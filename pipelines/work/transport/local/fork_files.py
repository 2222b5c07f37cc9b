"""Files with which a fork of a task begins, as its plan says them (law §17)."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.engine import ForkPlan
from pipelines.models import Task
from pipelines.work.transport.local.branch_states import BranchStates
from pipelines.work.transport.local.workspace_history import task_trees


@dataclass(frozen=True)
class ForkFiles:
    """Files of a moment. `commit` and `tree`: of its branch, "" where nothing was committed by then; `files`: how many
    the workspace holds, where the task works in no repository."""

    commit: str = ""
    tree: str = ""
    files: int = 0


def fork_files(task: Task, plan: ForkPlan) -> ForkFiles:
    """Return the files that the position of the plan had at its moment."""
    token, at = plan.position.token, plan.moment.at
    state = BranchStates(task).state_at(token, at, at)
    if state.heads:
        return ForkFiles(state.head or state.heads[0], state.tree)
    _digest, manifest = task_trees(task.pk).digest_and_manifest_at_or_none(token, at) or ("", ())
    return ForkFiles(files=sum(not entry.get("folder") for entry in manifest))
