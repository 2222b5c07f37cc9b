"""Large files of a runner that go straight to the artifact store (docs/runners.md): an address for one, and the word
that it is there."""

from __future__ import annotations

import uuid
from typing import Annotated

from pydantic import BaseModel, Field, StrictInt

from pipelines.api.auth import RunnerBearer
from pipelines.api.lookup import Operations
from pipelines.api.runner_requests import ERRORS, JOB, LEASE, RunnerRequest, get_leased_job, translates_errors
from pipelines.work.runners import direct_uploads

router = Operations("runners", ERRORS, auth=RunnerBearer())
FILE = JOB + "/files/{digest}"


class UploadIn(BaseModel):
    size: Annotated[StrictInt, Field(ge=0, lt=2**63)]


class UploadAddressOut(BaseModel):
    """`url`: for one PUT of these bytes with these `headers`, begun within five minutes; null: send it here."""

    url: str | None
    headers: dict[str, str] = {}


@router.post(FILE + "/address", response=UploadAddressOut, url_name="runner-upload-address")
@translates_errors
def upload_address(
    request: RunnerRequest,
    runner: uuid.UUID,
    job: int,
    digest: str,
    payload: UploadIn,
    lease: uuid.UUID = LEASE,
) -> UploadAddressOut:
    """Return where the artifact store takes this file, for this attempt alone."""
    job_row = get_leased_job(request, runner, job, lease)
    address = direct_uploads.issue_upload_address_or_none(job_row, lease, digest, payload.size)
    if address is None:
        return UploadAddressOut(url=None)
    return UploadAddressOut(url=address.url, headers=dict(address.headers))


@router.post(FILE + "/stored", response={204: None}, url_name="runner-stored")
@translates_errors
def confirm_direct_upload(
    request: RunnerRequest, runner: uuid.UUID, job: int, digest: str, lease: uuid.UUID = LEASE
) -> None:
    """Look at what came to the address of this file, and keep it."""
    direct_uploads.keep_uploaded_file(get_leased_job(request, runner, job, lease), lease, digest)
