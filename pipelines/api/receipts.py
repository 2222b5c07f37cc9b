"""Signed receipts of what landed, by their commits, and tombstones of what was purged (law §15): `gateline verify`."""

from __future__ import annotations

import re
from typing import Final

from django.http import HttpResponse

from pipelines.api.auth import Request
from pipelines.api.lookup import PROJECT, TASK, Operations, answering_for_purged_tasks
from pipelines.errors import Conflict, NotFound
from pipelines.formats.receipts import PAYLOAD_TYPE, sign_receipt, sign_statement
from pipelines.models import Project, Task
from pipelines.ports.vault.signing import configured_receipt_key
from pipelines.queries.receipts import find_landed_change_by_commit
from pipelines.queries.retention import tombstone_statement

router = Operations("receipts")
COMMIT: Final = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@router.get(PROJECT + "/receipts/{commit}", response={200: None}, summary="The signed receipt of a commit")
def download_receipt(request: Request, project: Project, commit: str) -> HttpResponse:
    """An in-toto Statement in a DSSE envelope. 404: no task of the project delivered this commit."""
    change = find_landed_change_by_commit(project, commit) if COMMIT.fullmatch(commit) else None
    if change is None:
        raise NotFound("No task of this project delivered this commit.")
    return HttpResponse(sign_receipt(change, configured_receipt_key()), content_type=PAYLOAD_TYPE)


@router.get(TASK + "/tombstone", response={200: None}, summary="The signed tombstone of a purged task")
@answering_for_purged_tasks
def download_tombstone(request: Request, task: Task) -> HttpResponse:
    """An in-toto Statement in a DSSE envelope: the outcome of the task, and a digest of each of its events and
    receipts. 409: it is not purged."""
    if not task.is_purged:
        raise Conflict("This task is not purged: its events say all of it.")
    envelope = sign_statement(tombstone_statement(task), configured_receipt_key())
    return HttpResponse(envelope, content_type=PAYLOAD_TYPE)
