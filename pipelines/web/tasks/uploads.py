"""Files that people upload for inputs: how much is taken, and what becomes of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import SkipFile, TemporaryFileUploadHandler
from django.urls import reverse
from django.utils import timezone

from pipelines.models import Project
from pipelines.routing.document.line import Input, Problem
from pipelines.web.shell.page import SignedInRequest
from pipelines.work import storage


class LimitedUploadHandler(TemporaryFileUploadHandler):
    """Drops what is larger than UPLOAD_BYTES while it arrives; `request.too_large` names its field."""

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        if start + len(raw_data) > settings.UPLOAD_BYTES:
            request: Any = self.request
            request.too_large = {*getattr(request, "too_large", ()), self.field_name}
            # Django reads the rest away, so that the form itself arrives.
            raise SkipFile
        super().receive_data_chunk(raw_data, start)


def store_uploads_and_return_fields_and_problems(
    request: SignedInRequest, project: Project, inputs: Sequence[Input], at: str
) -> tuple[dict[str, str], list[Problem]]:
    """The fields of the form that were sent, with the files among them stored: the value of a file is JSON text. And
    what is wrong with the files."""
    fields: dict[str, str] = request.POST.dict()
    problems = []
    for line_input in inputs:
        name = f"{at}.{line_input.key}"
        file = request.FILES.get(name)
        if line_input.type != "file":
            continue
        # An empty file field sends an empty text beside what the form kept.
        fields[name] = next(filter(None, request.POST.getlist(name)), "")
        if name in getattr(request, "too_large", ()):
            problems.append(Problem(name, _too_large_message()))
        elif isinstance(file, UploadedFile):
            stored_file = storage.store_upload(
                project,
                file.name or "",
                file,  # type: ignore[arg-type]
                str(request.user),
                timezone.now(),
            )
            fields[name] = json.dumps(stored_file)
    return fields, problems


def _too_large_message() -> str:
    return f"is larger than {max_upload_mib()} MiB"


def upload_url(project: Project) -> str:
    """Return the address where a script uploads a file before its form is sent."""
    return reverse("api-1:file-upload", args=[project.owner.key, project.key])


def max_upload_mib() -> int:
    """Return the maximum size of an uploaded file, in MiB."""
    return int(settings.UPLOAD_BYTES) // 1024 // 1024


def parsed_file_value_or_text(text: str) -> Any:
    """The value of a file input as its form keeps it; what is no JSON stays text, refused by the engine."""
    try:
        return json.loads(text) if text else ""
    except (ValueError, RecursionError):
        return text


def uploaded_file_name_or_empty(value: Any) -> str:
    """The name of an uploaded file in a form that is shown again, or ""."""
    file_value = parsed_file_value_or_text(value) if isinstance(value, str) else value
    return str(file_value.get("name") or "") if isinstance(file_value, Mapping) else ""
