"""Files that jobs handed over and people uploaded: a download, or drawn on a page of ours; never a page themselves."""

from __future__ import annotations

import codecs
import re

from django.core.files import File
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_safe

from pipelines.models import Artifact, Blob, Task, Upload
from pipelines.routing.basics.file_signatures import content_kind
from pipelines.routing.basics.hidden_characters import escape_hidden
from pipelines.web.shell.file_stream import StoredFileResponse
from pipelines.web.shell.page import SignedInRequest, breadcrumbs, render_in_shell, task_required
from pipelines.work.storage import artifact_storage

BYTES = "application/octet-stream"
LEAD, PREVIEW_BYTES, DIRECT_FROM = 16, 64 * 1024, 8 * 1024 * 1024
"""Bytes that tell a picture, bytes of a text that a page shows, and the size beyond which the server is left out."""
PICTURES = frozenset(("png", "jpeg", "gif", "webp"))
"""Of what the first bytes tell, what holds no markup."""
# A media type without parameters, such as `text/plain`
SAFE = re.compile(r"[a-z]+/[a-z0-9.+-]+\Z")


@task_required("view")
@require_safe
def download_artifact(request: SignedInRequest, task: Task, artifact: int) -> HttpResponseBase:
    stored_artifact = get_object_or_404(
        Artifact.objects.filter(task=task, pk=artifact).select_related("blob")
    )
    media = stored_artifact.media_type if SAFE.match(stored_artifact.media_type) else BYTES
    return attachment_response(
        stored_artifact.blob, escape_hidden(stored_artifact.name.rsplit("/", 1)[-1]), media
    )


@task_required("view")
@require_safe
def download_input(request: SignedInRequest, task: Task, key: str) -> HttpResponseBase:
    """Download the file uploaded for an input of the task; its type is not believed."""
    name, blob = _name_and_blob_of_input_file(task, key)
    with open_blob(blob) as file:
        media = picture_media_type_or_empty(file.read(LEAD)) or BYTES
    return attachment_response(blob, name, media)


@task_required("view")
@require_safe
def preview_input(request: SignedInRequest, task: Task, key: str) -> HttpResponse:
    """A picture, or the first lines of a text, on a page; anything else only as a download."""
    name, blob = _name_and_blob_of_input_file(task, key)
    with open_blob(blob) as file:
        # What it is follows from its content, never from its name: a browser must not run it
        lead = file.read(PREVIEW_BYTES)
    at = (task.project.owner.key, task.project.key, task.name)
    return render_in_shell(
        request,
        "tasks/input_file.html",
        project=task.project,
        section="tasks",
        trail=breadcrumbs((task.name, reverse("task", args=at)), name),
        task=task,
        key=key,
        name=name,
        blob=blob,
        picture=bool(picture_media_type_or_empty(lead)),
        text=text_preview_or_none(lead, blob.size),
        cut=blob.size > PREVIEW_BYTES,
    )


def _name_and_blob_of_input_file(task: Task, key: str) -> tuple[str, Blob]:
    """Name and bytes of the file of an input, for people."""
    value = task.inputs.get(key)
    digest = value.get("digest") if isinstance(value, dict) else None
    upload = Upload.objects.filter(project=task.project_id, blob=digest).select_related("blob").first()
    if upload is None:
        raise Http404
    return escape_hidden(str(value["name"])), upload.blob


def picture_media_type_or_empty(lead: bytes) -> str:
    """The type of a picture that holds no markup, by its first bytes, or ""."""
    content = content_kind(lead)
    return f"image/{content}" if content in PICTURES else ""


def text_preview_or_none(lead: bytes, size: int) -> str | None:
    """The first bytes of a file as text, hidden characters made visible; None where they are none."""
    if b"\0" in lead:
        return None
    try:
        # The last character may be cut in two.
        text, _length = codecs.utf_8_decode(lead, "strict", size <= len(lead))
    except UnicodeDecodeError:
        return None
    return escape_hidden(text)


def open_blob(blob: Blob) -> File:
    try:
        return artifact_storage().open(blob.name, "rb")
    except FileNotFoundError as gone:
        raise Http404 from gone


def attachment_response(blob: Blob, name: str, media: str) -> HttpResponseBase:
    """Never active content: a download, of a type that is not guessed, in a sandbox. A large one comes from the
    artifact store itself, where that can; a picture never does, for pages show it."""
    store = artifact_storage()
    if store.signs_addresses and blob.size > DIRECT_FROM and not media.startswith("image/"):
        return HttpResponseRedirect(store.download_address(blob.name, name, media))
    response = StoredFileResponse(open_blob(blob), as_attachment=True, filename=name, content_type=media)
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "sandbox"
    return response
