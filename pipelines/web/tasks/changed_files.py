"""Files of a stored tree as downloads, and the marks that a reader sets."""

from __future__ import annotations

import re

from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from pipelines.models import Blob, Snapshot, Task, VisitCommit
from pipelines.routing.basics.hidden_characters import escape_hidden
from pipelines.web.changes import viewed_content
from pipelines.web.shell.page import SignedInRequest, task_required
from pipelines.web.tasks.artifacts import LEAD, attachment_response, open_blob, picture_media_type_or_empty

DIGEST = re.compile(r"[0-9a-f]{64}")
LONGEST_PATH = 4096


@task_required("view")
@require_safe
def download_file(request: SignedInRequest, task: Task, digest: str) -> HttpResponseBase:
    """The bytes of a file of one of the task's trees: a download, whatever it is."""
    if not DIGEST.fullmatch(digest):
        raise Http404
    is_of_task = Snapshot.objects.filter(task=task, manifest__contains=[{"digest": digest}]).exists()
    # A file that was changed or deleted is in no snapshot, only in the `before` of a commit.
    is_of_task = is_of_task or any(
        entry and entry.get("digest") == digest
        for before in VisitCommit.objects.filter(task=task).values_list("before", flat=True)
        for entry in before.values()
    )
    blob = Blob.objects.filter(pk=digest).first() if is_of_task else None
    if blob is None:
        raise Http404
    with open_blob(blob) as file:
        media = picture_media_type_or_empty(file.read(LEAD)) or "application/octet-stream"
    name = escape_hidden(request.GET.get("name", "").rpartition("/")[2])[:200] or "file"
    return attachment_response(blob, name, media)


@task_required("view")
@require_POST
def toggle_file_viewed(request: SignedInRequest, task: Task) -> HttpResponse:
    """Mark a file as viewed, or take the mark back; theirs alone."""
    path, mark = request.POST.get("path", ""), request.POST.get("content", "")
    # 65: 64 hexadecimal digits, and a dash where the file was deleted
    if path and len(path) <= LONGEST_PATH and 0 < len(mark) <= 65 and "\x00" not in path + mark:
        viewed_content.mark_viewed(request.user, task, path, mark, request.POST.get("on") == "1")
    return redirect_back(request)


def redirect_back(request: SignedInRequest) -> HttpResponseRedirect:
    """Redirect to the page that the form names, if it is one of ours."""
    next_url = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(next_url, {request.get_host()}, require_https=request.is_secure())
    return HttpResponseRedirect(next_url if safe else "/")
