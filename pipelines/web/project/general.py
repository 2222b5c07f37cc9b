"""Projects as a whole: all of mine and a new one; name, archive and owner of one."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import F
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from pipelines import access
from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.models import Owner, Project, StoredValue, Task
from pipelines.models.people import slug
from pipelines.people import projects
from pipelines.queries import members as members_in
from pipelines.queries import usage
from pipelines.queries.project_quotas import quota_uses
from pipelines.queries.retention import preview_retention
from pipelines.queries.value_uses import uses_by_value
from pipelines.web.shell.forms import ChoiceForm
from pipelines.web.shell.page import (
    SignedInRequest,
    breadcrumbs,
    project_breadcrumb,
    project_required,
    render_in_shell,
    sign_in_required,
)

# No key of an owner has this sign.
NEW_OWNER = "+"


class NewProjectForm(ChoiceForm):
    """`owner`: the key of one of `owners`, or `+` with a key of its own."""

    name = forms.CharField(max_length=projects.LONGEST_NAME)
    key = forms.CharField(max_length=64, validators=[slug])
    offered = "owner"
    owner = forms.ChoiceField()
    new_owner = forms.CharField(max_length=64, validators=[slug], required=False)

    def clean(self) -> dict[str, Any]:
        form_data: dict[str, Any] = super().clean() or {}
        if (
            # Only with this choice the field of the new owner counts
            form_data.get("owner") == NEW_OWNER
            and not form_data.get("new_owner")
            and "new_owner" not in self.errors
        ):
            self.add_error("new_owner", "Enter a key for the new owner.")
        return form_data


class ProjectNameForm(forms.Form):
    name = forms.CharField(max_length=projects.LONGEST_NAME)


class SecondFactorForm(forms.Form):
    second_factor = forms.BooleanField(required=False)


class CostLimitForm(forms.Form):
    month_cost_usd = forms.DecimalField(required=False, min_value=0, max_digits=9, decimal_places=2)


class QuotasForm(forms.Form):
    """Form of the quotas; an empty field is none."""

    day_tasks = forms.IntegerField(required=False, min_value=0, max_value=projects.MOST_TASKS - 1)
    month_tasks = forms.IntegerField(required=False, min_value=0, max_value=projects.MOST_TASKS - 1)
    day_cost_usd = forms.DecimalField(required=False, min_value=0, max_digits=9, decimal_places=2)


class RetentionForm(forms.Form):
    """Form of the retention; an empty field is for ever. `preview`: the numbers whose consequences were shown."""

    file_days = forms.IntegerField(
        required=False, min_value=projects.LEAST_DAYS["file_days"], max_value=projects.MOST_DAYS
    )
    record_days = forms.IntegerField(
        required=False, min_value=projects.LEAST_DAYS["record_days"], max_value=projects.MOST_DAYS
    )
    preview = forms.CharField(required=False)

    @property
    def days(self) -> dict[str, int | None]:
        return {name: self.cleaned_data[name] for name in projects.LEAST_DAYS}

    @property
    def numbers(self) -> str:
        """The numbers as `preview` has them."""
        return "/".join(str(number or "") for number in self.days.values())


class TypedKeyForm(forms.Form):
    """The key of the project, typed by whoever wants it."""

    confirm = forms.CharField()
    wrong = "Type %(key)s to confirm."

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.key = project.key

    def clean_confirm(self) -> str:
        typed: str = self.cleaned_data["confirm"]
        if typed != self.key:
            raise forms.ValidationError(str(self.wrong) % {"key": self.key})
        return typed


class TransferForm(TypedKeyForm):
    owner = forms.CharField(max_length=64)


@sign_in_required
@require_http_methods(["GET", "HEAD", "POST"])
def project_list(request: SignedInRequest) -> HttpResponse:
    owners = _owner_choices(request)
    form = NewProjectForm(owners, request.POST or None)
    made = _create_project_or_none(request, form) if request.method == "POST" and form.is_valid() else None
    if made is not None:
        messages.success(request, f"{made.name} is created")
        return redirect("project-setup", made.owner.key, made.key)
    visible_projects = access.visible_projects_with_owner(request.user)
    return render_in_shell(
        request,
        "project/projects.html",
        section="projects",
        trail=breadcrumbs("Projects"),
        status=422 if request.method == "POST" else 200,
        form=form,
        owners=owners,
        # Archived ones come last.
        listed=visible_projects.order_by(F("archived_at").asc(nulls_first=True), "name", "key"),
    )


def _owner_choices(request: SignedInRequest) -> list[tuple[str, str]]:
    owners = [(owner.key, owner.name) for owner in access.owners_to_create_in(request.user)]
    return [*owners, (NEW_OWNER, "A new owner")] if request.user.is_staff else owners


def _create_project_or_none(request: SignedInRequest, form: NewProjectForm) -> Project | None:
    """None where it is refused; then the form says why."""
    form_data, field = form.cleaned_data, "new_owner"
    try:
        if form_data["owner"] == NEW_OWNER:
            owner = projects.create_owner(form_data["new_owner"], form_data["new_owner"], by=request.user)
        else:
            owner = Owner.objects.get(key=form_data["owner"])
        # From here on a conflict is about the project.
        field = "key"
        return projects.create_project(owner, form_data["key"], form_data["name"], by=request.user)
    except Invalid as fault:
        form.add_error(fault.path if fault.path in form.fields else None, fault.message)
    except Conflict as conflict:
        form.add_error(field, conflict.detail)
    return None


@project_required("settings")
@require_http_methods(["GET", "HEAD", "POST"])
def general_page(request: SignedInRequest, project: Project) -> HttpResponse:
    form = ProjectNameForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        projects.rename_project(project, form.cleaned_data["name"], by=request.user)
        messages.success(request, "Saved")
        return _redirect_to_general(project)
    return _general_page(request, project, form, 422 if request.method == "POST" else 200)


@project_required("settings")
@require_POST
def change_second_factor(request: SignedInRequest, project: Project) -> HttpResponse:
    form = SecondFactorForm(request.POST)
    if not form.is_valid():
        return _general_page(request, project, form, 422)
    projects.require_second_factor(project, form.cleaned_data["second_factor"], by=request.user)
    messages.success(request, "Saved")
    return _redirect_to_general(project)


@project_required("settings")
@require_POST
def change_cost_limit(request: SignedInRequest, project: Project) -> HttpResponse:
    form = CostLimitForm(request.POST)
    if not form.is_valid():
        return _general_page(request, project, form, 422)
    projects.set_monthly_cost_limit(project, form.cleaned_data["month_cost_usd"], by=request.user)
    messages.success(request, "Saved")
    return _redirect_to_general(project)


@project_required("settings")
@require_POST
def change_quotas(request: SignedInRequest, project: Project) -> HttpResponse:
    form = QuotasForm(request.POST)
    if not form.is_valid():
        return _general_page(request, project, form, 422)
    projects.change_quotas(project, form.cleaned_data, by=request.user)
    messages.success(request, "Saved")
    return _redirect_to_general(project)


@project_required("settings")
@require_POST
def change_retention(request: SignedInRequest, project: Project) -> HttpResponse:
    """Save the retention once its consequences were shown; until then show them."""
    form = RetentionForm(request.POST)
    if not form.is_valid():
        return _general_page(request, project, form, 422)
    if form.cleaned_data["preview"] != form.numbers:
        return _general_page(request, project, form)
    projects.change_retention(project, form.days, by=request.user)
    messages.success(request, "Saved")
    return _redirect_to_general(project)


def _retention_context(project: Project, form: forms.Form) -> dict[str, Any]:
    """Return the form of the retention; of numbers that were typed also what they would delete."""
    stored = {name: getattr(project, name) for name in projects.LEAST_DAYS}
    if not isinstance(form, RetentionForm):
        return {"retention": RetentionForm(initial=stored), "deletes": None}
    valid = form.is_valid()
    now = timezone.now()
    return {
        "retention": form,
        "deletes": preview_retention(project, **form.days, now=now) if valid else None,
        "numbers": form.numbers if valid else "",
    }


def _quota_fields(project: Project, form: forms.Form) -> list[dict[str, Any]]:
    """Return each quota with the field of its form, and what of it is used."""
    stored = {name: getattr(project, name) for name in QuotasForm.base_fields}
    initial = {name: str(most) for name, most in stored.items() if most is not None}
    bound = form if isinstance(form, QuotasForm) else QuotasForm(initial=initial)
    uses = {use.quota.key: use for use in quota_uses(project, with_unlimited=True)}
    return [{"field": bound[name], "use": uses[name]} for name in QuotasForm.base_fields]


def _general_page(
    request: SignedInRequest, project: Project, form: forms.Form, status: int = 200
) -> HttpResponse:
    """The form that was sent stands in its place with what is wrong with it; the others are fresh."""
    owners = access.owners_to_create_in(request.user).exclude(pk=project.owner_id)
    of_owner = list(StoredValue.objects.filter(owner=project.owner_id))
    usages = uses_by_value(project, of_owner) if of_owner and owners else {}
    limit = {} if project.month_cost_usd is None else {"month_cost_usd": str(project.month_cost_usd)}
    return render_in_shell(
        request,
        "project/general.html",
        project=project,
        section="settings",
        trail=project_breadcrumb(project, "General"),
        status=status,
        form=form if isinstance(form, ProjectNameForm) else ProjectNameForm(),
        limited=form if isinstance(form, CostLimitForm) else CostLimitForm(initial=limit),
        quotas=_quota_fields(project, form),
        **_retention_context(project, form),
        spent=usage.spending_of_month(project.pk),
        # Not `isinstance`: the form of a transfer is one, too.
        confirmed=form if type(form) is TypedKeyForm else TypedKeyForm(project),
        transferred=form if isinstance(form, TransferForm) else TransferForm(project),
        owners=[(owner.key, owner.name) for owner in owners],
        running=Task.objects.filter(project=project, ended_at=None).count(),
        unready=members_in.count_members_without_second_factor(project),
        lost=[value.name for value in of_owner if usages.get(value.pk)],
    )


def _redirect_to_general(project: Project) -> HttpResponse:
    return redirect("project-general", project.owner.key, project.key)


@project_required("settings")
@require_POST
def archive_project(request: SignedInRequest, project: Project) -> HttpResponse:
    form = TypedKeyForm(project, request.POST)
    if not form.is_valid():
        return _general_page(request, project, form, 422)
    projects.set_archived(project, True, by=request.user)
    messages.success(request, f"{project.name} is archived")
    return _redirect_to_general(project)


@project_required("settings")
@require_POST
def restore_project(request: SignedInRequest, project: Project) -> HttpResponse:
    projects.set_archived(project, False, by=request.user)
    messages.success(request, f"{project.name} is restored")
    return _redirect_to_general(project)


@project_required("settings")
@require_POST
def transfer_project(request: SignedInRequest, project: Project) -> HttpResponse:
    form = TransferForm(project, request.POST)
    if form.is_valid():
        try:
            projects.transfer_to_owner(project, form.cleaned_data["owner"], by=request.user)
        except Invalid as fault:
            form.add_error("owner", fault.message)
        except (Conflict, Forbidden) as refusal:
            form.add_error("owner", refusal.detail)
        else:
            messages.success(request, f"The project now belongs to {project.owner.name}.")
            return _redirect_to_general(project)
    return _general_page(request, project, form, 422)
