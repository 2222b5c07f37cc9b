"""Signed receipts of what landed, by their commits: what `gateline verify` asks for (law §15)."""

from __future__ import annotations

import re
from typing import Final

from django.http import HttpResponse

from pipelines.api.auth import Request
from pipelines.api.lookup import PROJECT, Operations
from pipelines.errors import NotFound
from pipelines.formats.receipts import PAYLOAD_TYPE, sign_receipt
from pipelines.models import Project
from pipelines.ports.vault.signing import configured_receipt_key
from pipelines.queries.receipts import landed_commit

router = Operations("receipts")
COMMIT: Final = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@router.get(PROJECT + "/receipts/{commit}", response={200: None}, summary="The signed receipt of a commit")
def receipt(request: Request, project: Project, commit: str) -> HttpResponse:
    """An in-toto Statement in a DSSE envelope. 404: no task of the project delivered this commit."""
    change = landed_commit(project, commit) if COMMIT.fullmatch(commit) else None
    if change is None:
        raise NotFound("No task of this project delivered this commit.")
    return HttpResponse(sign_receipt(change, configured_receipt_key()), content_type=PAYLOAD_TYPE)
