"""The signed receipt of what a task delivered: as a file, and verified in place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe
from dulwich.errors import NotGitRepository

from pipelines.formats.receipts import (
    PAYLOAD_TYPE,
    LandedChange,
    ReceiptInvalid,
    sign_receipt,
    sign_statement,
    verified_landed_change,
)
from pipelines.models import Delivery, Task
from pipelines.ports.server_folders import FolderRefused
from pipelines.ports.vault.signing import configured_receipt_key
from pipelines.queries.allowed_folders import server_folders_of_owner
from pipelines.queries.receipts import check_change_in_repository, landed_change_or_none
from pipelines.queries.retention import tombstone_statement
from pipelines.web.shell.page import SignedInRequest, is_fragment_request, render_in_shell, task_required


@dataclass(frozen=True, slots=True)
class ReceiptVerdict:
    """Result of verifying a receipt. `looked_up`: whether the commit was read in the repository, which only
    a folder of this server allows; `fault`: what is wrong, or ""."""

    looked_up: bool = False
    fault: str = ""


def _verify_receipt(task: Task, change: LandedChange) -> ReceiptVerdict:
    """Verify the receipt as anybody would who has the file, the key, and a clone."""
    key = configured_receipt_key()
    # Of a purged task only the receipt is left
    delivery = Delivery.objects.select_related("repository").filter(job=change.delivery).first()
    try:
        # By way of the file, as anybody else would: what is signed is what is shown
        same = verified_landed_change(sign_receipt(change, key), key.public_key())
        if delivery is None or delivery.repository is None or not delivery.repository.is_folder:
            return ReceiptVerdict()
        folder = server_folders_of_owner(task.project.owner_id).allowed_real_folder(
            delivery.repository.address
        )
        check_change_in_repository(same, Path(folder))
    except (ReceiptInvalid, FolderRefused) as fault:
        return ReceiptVerdict(fault=str(fault))
    except NotGitRepository:
        return ReceiptVerdict(fault="The folder is no git repository any more.")
    return ReceiptVerdict(looked_up=True)


@task_required("view", shows_purged=True)
@require_safe
def download_receipt(request: SignedInRequest, task: Task) -> HttpResponse:
    """Download the receipt of the delivery of `?job=`, else of the last one."""
    job_id = request.GET.get("job", "")
    # 18 digits fit into a bigint; more would be an error of the database.
    if job_id and not (job_id.isascii() and job_id.isdigit() and len(job_id) < 19):
        raise Http404
    change = landed_change_or_none(task, int(job_id or 0))
    if change is None:
        raise Http404
    if is_fragment_request(request, "verified"):
        verdict = _verify_receipt(task, change)
        return render_in_shell(
            request, "tasks/task/verified.html", project=task.project, change=change, verdict=verdict
        )
    return _attachment(
        sign_receipt(change, configured_receipt_key()), f"{task.name}-{change.commit[:12]}.receipt.json"
    )


@task_required("view", shows_purged=True)
@require_safe
def download_tombstone(request: SignedInRequest, task: Task) -> HttpResponse:
    """Download the signed tombstone of a purged task; of any other see its page."""
    if not task.is_purged:
        return redirect("task", task.project.owner.key, task.project.key, task.name)
    envelope = sign_statement(tombstone_statement(task), configured_receipt_key())
    return _attachment(envelope, f"{task.name}.tombstone.json")


def _attachment(envelope: bytes, name: str) -> HttpResponse:
    response = HttpResponse(envelope, content_type=PAYLOAD_TYPE)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response
