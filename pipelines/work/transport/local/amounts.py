"""The amount of what a task delivers, for its receipt, where no person can have read all of it (law §6)."""

from __future__ import annotations

from typing import Any

from pipelines.formats.evidence.trees.change_size import oversize_amount
from pipelines.models import Job
from pipelines.work.transport.local.branch_states import BranchStates
from pipelines.work.transport.local.workspace_history import trees_of


def amount_of(job: Job) -> dict[str, Any]:
    """{too_large_to_read: {files, bytes}} of what a delivery brings, else empty. `job` with its task loaded."""
    before = BranchStates(job.task).before(job.token_id, job.created_at) or {}
    _digest, manifest = trees_of(job.task_id).workspace_at(job.token_id, job.created_at) or ("", ())
    now = {str(entry["path"]): entry for entry in manifest}
    amount = oversize_amount((old, now.get(path)) for path, old in before.items() if old != now.get(path))
    return {"too_large_to_read": amount} if amount else {}
