"""Files of a runner's job: what its attempt starts with, and what it leaves (docs/runners.md)."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from ninja import Header
from pydantic import BaseModel

from pipelines.api import runner_bodies as bodies
from pipelines.api.auth import RunnerBearer
from pipelines.api.lookup import Operations
from pipelines.api.runner_requests import (
    ERRORS,
    JOB,
    LEASE,
    RUNNER,
    RunnerRequest,
    get_leased_job,
    get_runner,
    translates_errors,
)
from pipelines.errors import Invalid
from pipelines.web.shell.file_stream import StoredFileResponse
from pipelines.work.artifact_stores.store import digest_of_name_or_empty
from pipelines.work.runners import files, result_storage
from pipelines.work.storage import artifact_storage
from pipelines.work.transport.http import wire_format
from pipelines.work.transport.local import stored_results

router = Operations("runners", ERRORS, auth=RunnerBearer())


class MissingFilesOut(BaseModel):
    """`direct`: large ones may go straight to the artifact store."""

    wanted: list[str]
    direct: bool = False


@router.post(JOB + "/material", response=dict[str, Any], url_name="runner-material")
@translates_errors
def list_attempt_material(
    request: RunnerRequest, runner: uuid.UUID, job: int, lease: uuid.UUID = LEASE
) -> dict[str, Any]:
    """Return what the attempt starts with; each file under a name that is valid as long as the lease."""
    job_row = get_leased_job(request, runner, job, lease)
    inputs = job_row.task.inputs
    what = stored_results.job_material(job_row.pk, job_row.task_id, job_row.task.project_id, inputs)
    return wire_format.material_json(what, files.file_namer(job, lease))


@router.post(JOB + "/before", response=dict[str, Any], url_name="runner-before")
@translates_errors
def list_workspace_material(
    request: RunnerRequest, runner: uuid.UUID, job: int, lease: uuid.UUID = LEASE
) -> dict[str, Any]:
    """Return only the workspace of the material."""
    get_leased_job(request, runner, job, lease)
    return {
        "before": wire_format.starting_workspace_json_or_none(
            stored_results.last_snapshot_or_none(job), files.file_namer(job, lease)
        )
    }


@router.get(RUNNER + "/files/{name}", response={200: None, 307: None}, url_name="runner-file")
@translates_errors
def download_material_file(
    request: RunnerRequest,
    runner: uuid.UUID,
    name: str,
    direct: bool = Header(False, alias=wire_format.DIRECT),
) -> HttpResponseBase:
    """The bytes of a file that the material names; or, for who can follow, where the artifact store has them."""
    place = files.stored_place(name, get_runner(request, runner).pk)
    store = artifact_storage()
    if direct and store.signs_addresses:
        headers = {
            "Location": store.download_address(place),
            wire_format.DIGEST: digest_of_name_or_empty(place),
        }
        return HttpResponse(status=307, headers=headers)
    return StoredFileResponse(files.open_stored_file(place), content_type="application/octet-stream")


@router.post(JOB + "/wanted", response=MissingFilesOut, url_name="runner-wanted")
@translates_errors
def list_missing_files(
    request: RunnerRequest, runner: uuid.UUID, job: int, lease: uuid.UUID = LEASE
) -> MissingFilesOut:
    """`{"files": {digest: size}}`: which of these it has to send."""
    job_row = get_leased_job(request, runner, job, lease)
    sizes = bodies.read_document(request).get("files")
    if not isinstance(sizes, dict) or not all(type(size) is int and size >= 0 for size in sizes.values()):
        raise Invalid.at("files", "is no object of digests and sizes")
    missing = files.missing_digests(job_row, lease, sizes)
    return MissingFilesOut(wanted=missing, direct=artifact_storage().signs_addresses)


@router.put(JOB + "/files/{digest}", response={204: None}, url_name="runner-upload")
@translates_errors
def upload_file_or_part(
    request: RunnerRequest, runner: uuid.UUID, job: int, digest: str, lease: uuid.UUID = LEASE
) -> None:
    """The bytes of one file, as they are, 8 MB at most; those of a larger one in parts, each by its own digest."""
    files.receive_and_check_file(get_leased_job(request, runner, job, lease), lease, digest, request)  # type: ignore[arg-type]


@router.post(JOB + "/files/{digest}/parts", response={204: None}, url_name="runner-parts")
@translates_errors
def join_file_parts(
    request: RunnerRequest, runner: uuid.UUID, job: int, digest: str, lease: uuid.UUID = LEASE
) -> None:
    """`{"parts": [digests]}`: the file that parts make which were sent, in this order."""
    job_row = get_leased_job(request, runner, job, lease)
    parts = bodies.read_document(request).get("parts")
    # 64: SHA-256 in hexadecimal
    if not isinstance(parts, list) or not all(isinstance(part, str) and len(part) == 64 for part in parts):
        raise Invalid.at("parts", "is no list of digests")
    files.join_parts(job_row, lease, digest, parts)


@router.post(JOB + "/store", response={204: None}, url_name="runner-store")
@translates_errors
def store_attempt_files(
    request: RunnerRequest, runner: uuid.UUID, job: int, lease: uuid.UUID = LEASE
) -> None:
    """`{artifacts, workspace, git}`: what the attempt left, of files that were sent. Counted and checked here."""
    job_row = get_leased_job(request, runner, job, lease)
    result_storage.store_results(job_row, lease, bodies.read_document(request))
