"""Files that jobs handed over. They come from programs and agents: always a download, never shown as a page."""

from __future__ import annotations

import re

from django.core.files.storage import storages
from django.http import FileResponse, Http404
from django.views.decorators.http import require_safe

from pipelines.models import Artifact, Project
from pipelines.views import task as tasks
from pipelines.views.page import SignedIn, in_project

SAFE = re.compile(r"[a-z]+/[a-z0-9.+-]+\Z")


@in_project("view")
@require_safe
def download(request: SignedIn, project: Project, wi: str, artifact: int) -> FileResponse:
    task = tasks.get(request, project, wi)
    found = Artifact.objects.filter(task=task, pk=artifact).select_related("blob").first()
    if found is None:
        raise Http404
    storage = storages["artifacts"]
    try:
        file = storage.open(found.blob.name, "rb")
    except FileNotFoundError as gone:
        raise Http404 from gone
    media = found.media_type if SAFE.match(found.media_type) else "application/octet-stream"
    response = FileResponse(
        file, as_attachment=True, filename=found.name.rsplit("/", 1)[-1], content_type=media
    )
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "sandbox"
    return response
