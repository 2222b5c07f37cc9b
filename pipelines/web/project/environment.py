"""Saving of the form of a repository's environment."""

from __future__ import annotations

import re

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from pipelines import access, engine
from pipelines.errors import Conflict, Invalid
from pipelines.models import ENDED, Project, Repository
from pipelines.people import environment_settings
from pipelines.people.environment_settings import PreparationText
from pipelines.people.repositories import store_corrections
from pipelines.web.project import repositories
from pipelines.web.project.prepare_forms import add_fault, forms_of
from pipelines.web.shell.page import SignedInRequest, project_required, require


@project_required("repositories")
@require_POST
def save_environment(request: SignedInRequest, project: Project, repository: int) -> HttpResponse:
    """Admins who may run code: the command runs on every runner of the project."""
    require(request, "execute", project)
    project_repository = repositories.get_repository(project, repository)
    if "allow" in request.POST or "inside" in request.POST:
        return _allow(request, project_repository)
    page_forms = forms_of(project_repository, request.POST)
    form, services = page_forms["prepare_form"], page_forms["services"]
    if form.is_valid() and services.is_valid():
        preparation = PreparationText(services=services.service_texts(), **form.cleaned_data)
        try:
            environment_settings.change_environment(
                project_repository, preparation, by=request.user, now=timezone.now()
            )
        except Invalid as fault:
            add_fault(form, services, fault)
        else:
            store_corrections(project_repository, {}, now=timezone.now())
            messages.success(request, f"The environment of {project_repository.name} is saved")
            # Whoever came from a task that failed goes on there
            if task_name := _task_name(request):
                return redirect("task", project.owner.key, project.key, task_name)
            return redirect("project-repository", project.owner.key, project.key, project_repository.pk)
    return repositories.repository_page(request, project_repository, 422, **page_forms)


def _task_name(request: SignedInRequest) -> str:
    """Name the task from whose page it came; "" where it came from none."""
    name = request.GET.get("task", "")
    return name if re.fullmatch(r"[\w.-]+", name) else ""


def _allow(request: SignedInRequest, repository: Repository) -> HttpResponse:
    """Allow the hosts at which a task failed, and retry it."""
    project, hosts = repository.project, request.POST.getlist("allow")
    inside = request.POST.getlist("inside")
    try:
        environment_settings.allow_hosts(repository, hosts, inside, by=request.user, now=timezone.now())
    except Invalid as fault:
        messages.error(request, fault.message)
        return redirect("project-repository", project.owner.key, project.key, repository.pk)
    messages.success(request, f"Prepare of {repository.name} may reach {', '.join([*hosts, *inside])}")
    if not (name := _task_name(request)):
        return redirect("project-repository", project.owner.key, project.key, repository.pk)
    task = access.task_in(project, name)
    if task.status in ENDED and access.can(request.user, "operate", project):
        try:
            # At the station that it visited last
            task = engine.retry_ended(task.pk, station="", actor=engine.Actor.person(request.user))
        except (Conflict, Invalid) as refusal:
            messages.error(request, str(refusal))
    return redirect("task", project.owner.key, project.key, task.name)
