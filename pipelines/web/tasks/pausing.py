"""Pausing and resuming a task or a line on their pages (law §17)."""

from __future__ import annotations

from functools import partial

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from pipelines import engine
from pipelines.engine import PauseScope
from pipelines.errors import Conflict
from pipelines.models import Line, Task
from pipelines.web.shell.page import SignedInRequest, line_required, task_required
from pipelines.web.tasks.action_responses import run_action, typed_text


@task_required("operate")
@require_POST
def pause_task(request: SignedInRequest, task: Task) -> HttpResponse:
    scope, entered = PauseScope(task.project, task=task), typed_text(request, "reason", "Reason")
    do = partial(
        engine.pause,
        scope,
        user=request.user,
        reason=entered["Reason"],
        stops=bool(request.POST.get("stops")),
    )
    return run_action(request, task, do, "Paused", entered)


@task_required("operate")
@require_POST
def resume_task(request: SignedInRequest, task: Task) -> HttpResponse:
    do = partial(engine.resume, PauseScope(task.project, task=task), user=request.user)
    return run_action(request, task, do, "Resumed", {})


@line_required("operate")
@require_POST
def pause_line(request: SignedInRequest, line: Line) -> HttpResponse:
    """Pause a line, or the station that the form names."""
    reason, stops = typed_text(request, "reason", "Reason")["Reason"], bool(request.POST.get("stops"))
    scope = PauseScope(line.project, line, request.POST.get("station", ""))
    try:
        engine.pause(scope, user=request.user, reason=reason, stops=stops)
        messages.success(request, "Paused")
    except Conflict as late:
        messages.error(request, late.detail)
    return _to_line(line)


@line_required("operate")
@require_POST
def resume_line(request: SignedInRequest, line: Line) -> HttpResponse:
    scope = PauseScope(line.project, line, request.POST.get("station", ""))
    try:
        engine.resume(scope, user=request.user)
        messages.success(request, "Resumed")
    except Conflict as late:
        messages.error(request, late.detail)
    return _to_line(line)


def _to_line(line: Line) -> HttpResponse:
    return redirect(reverse("line-live", args=[line.project.owner.key, line.project.key, line.key]))
