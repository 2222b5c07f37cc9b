"""Escalating a task by hand, and resolving what is escalated."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from pipelines import engine
from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.models import Deadlock, Escalation, Project, Task
from pipelines.views import task as tasks
from pipelines.views.actions import conflict, refused
from pipelines.views.forms import Escalated, Resolved, Unlocked
from pipelines.views.page import SignedIn, in_project


def _to_task(task: Task) -> HttpResponse:
    return redirect(reverse("task", args=[task.project.owner.key, task.project.key, task.name]))


@in_project("operate")
@require_POST
def escalate(request: SignedIn, project: Project, wi: str) -> HttpResponse:
    task = tasks.get(request, project, wi)
    typed = {_("Reason"): request.POST.get("reason", "").replace("\0", "")}
    form = Escalated(request.POST)
    if not form.is_valid():
        return refused(request, task, _("Say what it is about, and why: both stay with the task."), typed)
    said = form.cleaned_data
    try:
        engine.escalate(task.pk, user=request.user, trigger=said["trigger"], reason=said["reason"])
    except Conflict as late:
        return conflict(request, task, late.detail, typed)
    except Invalid as fault:
        return refused(request, task, str(fault), typed)
    messages.success(request, _("Escalated"))
    return _to_task(task)


@in_project("view")
@require_POST
def resolve(request: SignedIn, project: Project, wi: str, escalation: UUID) -> HttpResponse:
    """Whoever is of the role may; the engine settles it."""
    task = tasks.get(request, project, wi)
    if not Escalation.objects.filter(task=task, pk=escalation).exists():
        raise Http404
    typed = {_("Reason"): request.POST.get("reason", "").replace("\0", "")}
    form = Resolved(request.POST)
    if not form.is_valid():
        return refused(
            request, task, _("Say how it goes on, and why: the reason stays with the task."), typed
        )
    said = form.cleaned_data
    route = said["route"] if said["word"] in ("route", "choose") else ""
    try:
        engine.resolve(escalation, user=request.user, word=said["word"], reason=said["reason"], route=route)
    except Conflict as late:
        return conflict(request, task, late.detail, typed)
    except Invalid as fault:
        return refused(request, task, str(fault), typed)
    except Forbidden as not_asked:
        raise PermissionDenied(str(not_asked)) from not_asked
    messages.success(request, _("Resolved"))
    return _to_task(task)


@in_project("view")
@require_POST
def unlock(request: SignedIn, project: Project, wi: str, deadlock: UUID) -> HttpResponse:
    """Whoever is of the role resolves a deadlock; the engine settles it."""
    task = tasks.get(request, project, wi)
    if not Deadlock.objects.filter(tasks=task, pk=deadlock).exists():
        raise Http404
    typed = {_("Reason"): request.POST.get("reason", "").replace("\0", "")}
    form = Unlocked(request.POST)
    if not form.is_valid():
        return refused(
            request, task, _("Say how it goes on, and why: the reason stays with the task."), typed
        )
    said = form.cleaned_data
    output = said["output"] if said["word"] == "output" else None
    try:
        engine.resolve_deadlock(
            deadlock, user=request.user, word=said["word"], reason=said["reason"], output=output
        )
    except Conflict as late:
        return conflict(request, task, late.detail, typed)
    except Invalid as fault:
        return refused(request, task, str(fault), typed)
    except Forbidden as not_asked:
        raise PermissionDenied(str(not_asked)) from not_asked
    messages.success(request, _("Resolved"))
    return _to_task(task)
