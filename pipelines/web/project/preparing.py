"""Saving of the form of a repository's environment."""

from __future__ import annotations

import re

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from pipelines.errors import Invalid
from pipelines.models import Project
from pipelines.people import preparing
from pipelines.people.preparing import PrepareText
from pipelines.people.repositories import corrected
from pipelines.web.project import repositories
from pipelines.web.project.prepare_forms import forms_of, place
from pipelines.web.shell.page import SignedIn, in_project, require


@in_project("repositories")
@require_POST
def prepare(request: SignedIn, project: Project, repository: int) -> HttpResponse:
    """Admins who may run code: the command runs on every runner of the project."""
    require(request, "execute", project)
    project_repository = repositories.of_project(project, repository)
    page_forms = forms_of(project_repository, request.POST)
    form, services = page_forms["prepare_form"], page_forms["services"]
    if form.is_valid() and services.is_valid():
        preparation = PrepareText(services=services.said(), **form.cleaned_data)
        try:
            preparing.change(project_repository, preparation, by=request.user, now=timezone.now())
        except Invalid as fault:
            place(form, services, fault)
        else:
            corrected(project_repository, {}, now=timezone.now())
            messages.success(request, f"The environment of {project_repository.name} is saved")
            # Whoever came from a task that failed goes on there
            if re.fullmatch(r"[\w.-]+", task_name := request.GET.get("task", "")):
                return redirect("task", project.owner.key, project.key, task_name)
            return redirect("project-repository", project.owner.key, project.key, project_repository.pk)
    return repositories.shown(request, project_repository, 422, **page_forms)
