"""The page of a repository, as it is saved: its settings, its protection and its environment, all of them or none."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from pipelines import access
from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.models import Project, Repository
from pipelines.people import environment_settings, protections
from pipelines.people.environment_settings import PreparationText
from pipelines.people.repositories import change_repository, store_corrections
from pipelines.web.project import repositories
from pipelines.web.project.environment import originating_task_name_or_empty
from pipelines.web.project.prepare_forms import PREFIX, PrepareForm, ServiceFormSet, add_fault, prepare_forms
from pipelines.web.project.protection_forms import ALL, ProtectionForm, protection_context
from pipelines.web.project.repositories import RepositoryForm
from pipelines.web.shell.page import SignedInRequest, costly_to_post, project_required, require_permission


@project_required("repositories")
@costly_to_post
@require_http_methods(["GET", "HEAD", "POST"])
def edit_repository_page(request: SignedInRequest, project: Project, repository: int) -> HttpResponse:
    """Setup leads here, and a task that failed; whoever came from there goes on there."""
    chosen = repositories.get_repository(project, repository)
    if request.method != "POST":
        return repositories.repository_page(request, chosen, 200)
    page_forms = _posted_forms(request, chosen)
    if not _save_if_all_allowed(request, chosen, page_forms):
        return repositories.repository_page(request, chosen, 422, **page_forms)
    if "form" in page_forms:
        repositories.test_and_report(request, chosen)
    else:
        store_corrections(chosen, {}, now=timezone.now())
    if task_name := originating_task_name_or_empty(request):
        return redirect("task", project.owner.key, project.key, task_name)
    if request.GET.get("from") == "setup":
        setup_url = reverse("project-setup", args=[project.owner.key, project.key])
        return redirect(f"{setup_url}?connected={chosen.pk}")
    return redirect("project-repositories", project.owner.key, project.key)


def _posted_forms(request: SignedInRequest, repository: Repository) -> dict[str, Any]:
    """The forms of which something was sent: those who may not run code send no environment."""
    posted, page_forms = request.POST, dict[str, Any]()
    if "approvals" in posted:
        initial = protection_context(repository, request.user)["protection_form"].initial
        page_forms["protection_form"] = ProtectionForm(posted, initial=initial)
    if f"{PREFIX}-TOTAL_FORMS" in posted:
        require_permission(request, "execute", repository.project)
        page_forms |= prepare_forms(repository, posted)
    if "address" in posted or not page_forms:
        page_forms["form"] = RepositoryForm(posted)
    return page_forms


def _save_if_all_allowed(
    request: SignedInRequest, repository: Repository, page_forms: dict[str, Any]
) -> bool:
    """Save what changed, if all of it may be; else each fault stands at its field."""
    # All of them: what is wrong is said at once
    valid = [form.is_valid() for form in page_forms.values()]
    if not all(valid):
        return False
    try:
        with transaction.atomic():
            saved = [
                _try_to_save_settings(request, repository, page_forms.get("form")),
                _try_to_save_protection(request, repository, page_forms.get("protection_form")),
                _try_to_save_environment(
                    request, repository, page_forms.get("prepare_form"), page_forms.get("services")
                ),
            ]
            transaction.set_rollback(not all(saved))
    except Forbidden as fault:
        raise PermissionDenied from fault
    if all(saved):
        messages.success(request, f"{repository.name} is saved")
        return True
    # As it is stored: some of it was changed here before
    repository.refresh_from_db()
    return False


def _try_to_save_settings(
    request: SignedInRequest, repository: Repository, form: RepositoryForm | None
) -> bool:
    if form is None:
        return True
    by, now, allow = request.user, timezone.now(), form.allowed_folder
    try:
        change_repository(repository, form.repository_settings, by=by, now=now, allow=allow)
    except (Invalid, Conflict) as fault:
        repositories.add_refusal(form, fault)
        return False
    return True


def _try_to_save_protection(
    request: SignedInRequest, repository: Repository, form: ProtectionForm | None
) -> bool:
    if form is None or not form.has_changed():
        return True
    owner = repository.project.owner
    of_owner = access.can_in_every_project_of_owner(request.user, "repositories", owner)
    rights: dict[str, Any] = {"by": request.user, "of_owner": of_owner, "now": timezone.now()}
    try:
        if form.cleaned_data["scope"] == ALL:
            protections.set_protection_for_all(owner, form.typed_protection, **rights)
        else:
            protections.set_protection(repository, form.typed_protection, **rights)
    except Invalid as fault:
        field = fault.path.removeprefix("protection.")
        form.add_error(field if field in form.fields else "scope", fault.message)
        return False
    return True


def _try_to_save_environment(
    request: SignedInRequest,
    repository: Repository,
    form: PrepareForm | None,
    services: ServiceFormSet | None,
) -> bool:
    if form is None or services is None or not (form.has_changed() or services.has_changed()):
        return True
    preparation = PreparationText(services=services.service_texts(), **form.cleaned_data)
    try:
        environment_settings.change_environment(repository, preparation, by=request.user, now=timezone.now())
    except Invalid as fault:
        add_fault(form, services, fault)
        return False
    return True
