"""Files for inputs over HTTP: uploaded first, then named by a task's input."""

from __future__ import annotations

from django.utils import timezone
from ninja import File
from ninja.files import UploadedFile
from pydantic import BaseModel

from pipelines.api.auth import Request, caller_actor
from pipelines.api.lookup import PROJECT, Operations, action_required
from pipelines.errors import Invalid
from pipelines.models import Project
from pipelines.work import storage

router = Operations("tasks")


class FileOut(BaseModel):
    """The value of a `file` input."""

    name: str
    digest: str
    size: int


@router.post(
    PROJECT + "/files",
    response={201: FileOut},
    summary="Upload a file for an input",
    url_name="file-upload",
)
@action_required("submit")
def upload_input_file(
    request: Request,
    project: Project,
    file: UploadedFile | None = File(None),  # noqa: B008
) -> FileOut:
    """The field `file` of a form. The answer is the value of a `file` input of a task of this project."""
    who = request.auth
    if getattr(request, "too_large", ()):
        raise Invalid.at("file", "is larger than an upload may be")
    if file is None:
        raise Invalid.at("file", "is required", "Send it as the field file of a form (multipart/form-data).")
    stored_file = storage.store_upload(project, file.name or "", file, str(caller_actor(who)), timezone.now())  # type: ignore[arg-type]
    return FileOut(**stored_file)
