"""Pausing and resuming a task, a line or a project on their pages (law §17)."""

from __future__ import annotations

from functools import partial

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from pipelines import engine
from pipelines.engine import PauseScope
from pipelines.errors import Conflict, Invalid
from pipelines.models import Line, Project, Task
from pipelines.web.shell.page import SignedInRequest, line_required, project_required, task_required
from pipelines.web.tasks.action_responses import run_command_and_redirect, typed_text_by_label


@task_required("operate")
@require_POST
def pause_task(request: SignedInRequest, task: Task) -> HttpResponse:
    scope, entered = PauseScope(task.project, task=task), typed_text_by_label(request, "reason", "Reason")
    do = partial(
        engine.pause,
        scope,
        user=request.user,
        reason=entered["Reason"],
        stops=bool(request.POST.get("stops")),
    )
    return run_command_and_redirect(request, task, do, "Paused", entered)


@task_required("operate")
@require_POST
def resume_task(request: SignedInRequest, task: Task) -> HttpResponse:
    do = partial(engine.resume, PauseScope(task.project, task=task), user=request.user)
    return run_command_and_redirect(request, task, do, "Resumed", {})


@line_required("operate")
@require_POST
def pause_line_or_station(request: SignedInRequest, line: Line) -> HttpResponse:
    """Pause a line, or the station that the form names."""
    return _pause_scope(request, PauseScope(line.project, line, request.POST.get("station", "")))


@line_required("operate")
@require_POST
def resume_line_or_station(request: SignedInRequest, line: Line) -> HttpResponse:
    # PostgreSQL compares with no NUL. A station that is gone may be resumed.
    station = request.POST.get("station", "").replace("\x00", "")
    return _resume_scope(request, PauseScope(line.project, line, station))


@project_required("settings")
@require_POST
def pause_project(request: SignedInRequest, project: Project) -> HttpResponse:
    return _pause_scope(request, PauseScope(project))


@project_required("settings")
@require_POST
def resume_project(request: SignedInRequest, project: Project) -> HttpResponse:
    return _resume_scope(request, PauseScope(project))


def _pause_scope(request: SignedInRequest, scope: PauseScope) -> HttpResponse:
    reason, stops = (
        typed_text_by_label(request, "reason", "Reason")["Reason"],
        bool(request.POST.get("stops")),
    )
    try:
        engine.pause(scope, user=request.user, reason=reason, stops=stops)
        messages.success(request, "Paused")
    except (Conflict, Invalid) as refusal:
        messages.error(request, str(refusal))
    return _redirect_to_scope(scope)


def _resume_scope(request: SignedInRequest, scope: PauseScope) -> HttpResponse:
    try:
        engine.resume(scope, user=request.user)
        messages.success(request, "Resumed")
    except Conflict as refusal:
        messages.error(request, refusal.detail)
    return _redirect_to_scope(scope)


def _redirect_to_scope(scope: PauseScope) -> HttpResponse:
    """Return to the page that shows what is paused."""
    keys = [scope.project.owner.key, scope.project.key]
    return redirect("line-live", *keys, scope.line.key) if scope.line else redirect("lines", *keys)
