"""Files that jobs handed over and people uploaded: always a download, never shown as a page."""

from __future__ import annotations

import re

from django.core.files.storage import storages
from django.http import FileResponse, Http404
from django.views.decorators.http import require_safe

from pipelines.models import Artifact, Blob, Project, Upload
from pipelines.routing.basics.visible import visible
from pipelines.web.shell.page import SignedIn, in_project
from pipelines.web.tasks import task as tasks

BYTES = "application/octet-stream"
SAFE = re.compile(r"[a-z]+/[a-z0-9.+-]+\Z")


@in_project("view")
@require_safe
def download(request: SignedIn, project: Project, wi: str, artifact: int) -> FileResponse:
    task = tasks.get(request, project, wi)
    found = Artifact.objects.filter(task=task, pk=artifact).select_related("blob").first()
    if found is None:
        raise Http404
    media = found.media_type if SAFE.match(found.media_type) else BYTES
    return _attachment(found.blob, visible(found.name.rsplit("/", 1)[-1]), media)


@in_project("view")
@require_safe
def input_file(request: SignedIn, project: Project, wi: str, key: str) -> FileResponse:
    """What was uploaded for an input of the task; its type is not believed."""
    value = tasks.get(request, project, wi).inputs.get(key)
    digest = value.get("digest") if isinstance(value, dict) else None
    found = Upload.objects.filter(project=project, blob=digest).select_related("blob").first()
    if found is None:
        raise Http404
    return _attachment(found.blob, visible(str(value["name"])), BYTES)


def _attachment(blob: Blob, name: str, media: str) -> FileResponse:
    """Never active content: a download, of a type that is not guessed, in a sandbox."""
    try:
        file = storages["artifacts"].open(blob.name, "rb")
    except FileNotFoundError as gone:
        raise Http404 from gone
    response = FileResponse(file, as_attachment=True, filename=name, content_type=media)
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "sandbox"
    return response
