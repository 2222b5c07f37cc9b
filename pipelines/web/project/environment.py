"""Allowing hosts to the environment of a repository, from the page of a task whose preparation was refused them."""

from __future__ import annotations

import re

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from pipelines import access, engine
from pipelines.errors import Conflict, Invalid
from pipelines.models import ENDED, Project
from pipelines.people import environment_settings
from pipelines.web.project import repositories
from pipelines.web.shell.page import SignedInRequest, project_required, require_permission


def originating_task_name_or_empty(request: SignedInRequest) -> str:
    """Name the task from whose page it came; "" where it came from none."""
    name = request.GET.get("task", "")
    return name if re.fullmatch(r"[\w.-]+", name) else ""


@project_required("repositories")
@require_POST
def allow_hosts(request: SignedInRequest, project: Project, repository: int) -> HttpResponse:
    """Allow the hosts at which a task failed, and retry it. Admins who may run code."""
    require_permission(request, "execute", project)
    project_repository = repositories.get_repository(project, repository)
    hosts = request.POST.getlist("allow")
    inside = request.POST.getlist("inside")
    try:
        environment_settings.allow_hosts(
            project_repository, hosts, inside, by=request.user, now=timezone.now()
        )
    except Invalid as fault:
        messages.error(request, fault.message)
        return redirect("project-repository", project.owner.key, project.key, project_repository.pk)
    messages.success(
        request, f"Prepare of {project_repository.name} may reach {', '.join([*hosts, *inside])}"
    )
    if not (name := originating_task_name_or_empty(request)):
        return redirect("project-repository", project.owner.key, project.key, project_repository.pk)
    task = access.task_of_permitted_project(project, name)
    if task.status in ENDED and access.is_permitted(request.user, "operate", project):
        try:
            # At the station that it visited last
            task = engine.start_retry_task(task.pk, station="", actor=engine.Actor.person(request.user))
        except (Conflict, Invalid) as refusal:
            messages.error(request, str(refusal))
    return redirect("task", project.owner.key, project.key, task.name)
