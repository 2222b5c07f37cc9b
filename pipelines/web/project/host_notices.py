"""Notices that the host of a repository did not get: sent again or dropped from its page."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from pipelines.errors import Conflict
from pipelines.models import HostNotice, Project
from pipelines.people import code_host_notices
from pipelines.web.shell.page import SignedInRequest, project_required


@project_required("repositories")
@require_POST
def send_again(request: SignedInRequest, project: Project, notice: int) -> HttpResponse:
    return _act_on_notice(
        request, project, notice, code_host_notices.requeue_failed_notice, "It is sent again"
    )


@project_required("repositories")
@require_POST
def drop_notice(request: SignedInRequest, project: Project, notice: int) -> HttpResponse:
    return _act_on_notice(request, project, notice, code_host_notices.cancel_unsent_notice, "Dropped")


def _act_on_notice(
    request: SignedInRequest, project: Project, notice: int, act: Callable[..., None], success_message: str
) -> HttpResponse:
    rows = HostNotice.objects.select_related("link__task__project", "link__repository")
    row = rows.filter(link__repository__project=project, pk=notice).first()
    # Of a repository that is not connected any more nobody can be told anything
    if row is None or row.link.repository_id is None:
        raise Http404
    try:
        act(row, by=request.user, now=timezone.now())
    except Conflict as conflict:
        messages.error(request, conflict.detail)
    else:
        messages.success(request, success_message)
    return redirect("project-repository", project.owner.key, project.key, row.link.repository_id)
