"""Saves what the form of a repository's protection says."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from pipelines import access
from pipelines.errors import Forbidden, Invalid
from pipelines.models import Project
from pipelines.people import protections
from pipelines.web.project import repositories
from pipelines.web.project.protection_forms import ALL, ProtectionForm
from pipelines.web.shell.page import SignedInRequest, project_required


@project_required("repositories")
@require_POST
def protect(request: SignedInRequest, project: Project, repository: int) -> HttpResponse:
    chosen = repositories.get_repository(project, repository)
    form = ProtectionForm(request.POST)
    if form.is_valid():
        of_owner = access.can_in_owner(request.user, "repositories", project.owner)
        change: dict[str, Any] = {"by": request.user, "of_owner": of_owner, "now": timezone.now()}
        try:
            if form.cleaned_data["scope"] == ALL:
                protections.protect_all(project.owner, form.rules, **change)
            else:
                protections.protect(chosen, form.rules, **change)
        except Forbidden as fault:
            raise PermissionDenied from fault
        except Invalid as fault:
            field = fault.path.removeprefix("protection.")
            form.add_error(field if field in form.fields else "scope", fault.message)
        else:
            messages.success(request, f"The protection of {chosen.name} is saved")
            return redirect("project-repository", project.owner.key, project.key, chosen.pk)
    return repositories.repository_page(request, chosen, 422, protection_form=form)
